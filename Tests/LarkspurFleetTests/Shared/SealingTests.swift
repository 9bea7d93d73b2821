import Foundation
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Sealed values", .limited)
struct SealingTests {
    private func key(_ byte: UInt8 = 1, id: String = "") throws -> SealingKey {
        try SealingKey([UInt8](repeating: byte, count: 32), id: id)
    }

    private func code(_ operation: () throws -> Data) -> SealingError.Code? {
        do { _ = try operation() } catch { return (error as? SealingError)?.code }
        return nil
    }

    @Test("A value is opened by its key, and by no other", arguments: [0, 1, 15, 16, 17, 70_000])
    func roundTrip(count: Int) throws {
        let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let sealed = try key(id: "a").seal(value, for: "name")
        #expect(try SealingKey.open(sealed, for: "name", by: [key(2, id: "b"), key(id: "a")]) == value)
        #expect(code { try SealingKey.open(sealed, for: "name", by: [key(2, id: "a")]) } == .wrongKey)
        #expect(code { try SealingKey.open(sealed, for: "name", by: [key(id: "b")]) } == .wrongKey)
        #expect(code { try SealingKey.open(sealed, for: "other", by: [key(id: "a")]) } == .wrongKey)
        #expect(code { try SealingKey.open(sealed, for: "name", by: []) } == .wrongKey)
    }

    @Test("No changed byte and no shorter value is accepted")
    func changes() throws {
        let (key, value) = (try key(id: "k"), Data("refresh token".utf8))
        let sealed = try key.seal(value, for: "name")
        #expect(sealed.range(of: Data("token".utf8)) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(code { try SealingKey.open(changed, for: "name", by: [key]) } != nil, "byte \(index)")
            #expect(code { try SealingKey.open(sealed[..<index], for: "name", by: [key]) } != nil, "\(index) bytes")
        }
    }

    @Test("Two sealed forms of a value differ in their nonces")
    func nonces() throws {
        let key = try key()
        let forms = try (0..<100).map { _ in try key.seal(Data("a".utf8), for: "n")[5..<17] }
        #expect(Set(forms).count == 100)
    }

    @Test("The cipher has the results of the specification of GCM (test cases 13 to 16)")
    func vectors() throws {
        let zero = try AESGCM.seal(
            [], key: [UInt8](repeating: 0, count: 32), nonce: [UInt8](repeating: 0, count: 12), context: [])
        #expect(zero == bytes("530f8afbc74536b9a963b4f1c4cb738b"))
        let block = try AESGCM.seal(
            [UInt8](repeating: 0, count: 16), key: [UInt8](repeating: 0, count: 32),
            nonce: [UInt8](repeating: 0, count: 12), context: [])
        #expect(block == bytes("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"))
        let half = "feffe9928665731c6d6a8f9467308308"
        let plain = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
        let context = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = try AESGCM.seal(
            plain, key: bytes(half + half), nonce: bytes("cafebabefacedbaddecaf888"), context: context)
        #expect(
            sealed
                == bytes(
                    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                        + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                        + "76fc6ece0f4e1768cddf8853bb2d551b"))
    }

    private func bytes(_ text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
    }

    @Test("A key has 32 bytes, and its description does not show them")
    func keys() throws {
        for count in [0, 16, 31, 33] {
            #expect(throws: SealingError.self) { try SealingKey([UInt8](repeating: 1, count: count)) }
        }
        #expect(throws: SealingError.self) {
            try SealingKey([UInt8](repeating: 1, count: 32), id: String(repeating: "a", count: 256))
        }
        let key = try SealingKey([UInt8](repeating: 251, count: 32), id: "main")
        var text = ""
        dump(key, to: &text)
        text += "\(key) \(String(reflecting: key))"
        #expect(text.contains("main") && !text.contains("251"))
    }
}
