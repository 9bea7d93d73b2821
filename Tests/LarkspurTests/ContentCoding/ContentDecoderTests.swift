import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Content codings", .limited)
struct ContentDecoderTests {
    @Test(
        "A complete body is decoded to the text, for any size of its pieces",
        arguments: CodedBody.all + CodedBody.stacked)
    func whole(_ body: CodedBody) throws {
        for size in [1, 2, 7, .max] {
            #expect(try Decoded(body.bytes, body.codings, by: size) == .bytes(CodedBody.text), "by \(size)")
        }
    }

    @Test("The empty text has a coded form, and an empty body is valid in every coding", arguments: CodedBody.all)
    func empty(_ body: CodedBody) throws {
        #expect(!body.empty.isEmpty)
        #expect(try Decoded(body.empty, body.codings) == .bytes([]))
        #expect(try Decoded([], body.codings) == .bytes([]))
    }

    @Test("A body that ends early is an error, at every byte", arguments: CodedBody.all + CodedBody.stacked)
    func truncated(_ body: CodedBody) throws {
        for count in 1..<body.bytes.count {
            let outcome = try Decoded(Array(body.bytes.prefix(count)), body.codings)
            #expect(outcome == .failed(.undecodableContent), "after \(count) bytes")
        }
    }

    @Test("Bytes after the end of a body are an error: noise, a line break or zeros")
    func trailing() throws {
        for body in CodedBody.all + CodedBody.stacked {
            for tail: [UInt8] in [[0x78], [0x0D, 0x0A], Array("garbage".utf8), [0], [0, 0, 0, 1]] {
                // Zeros after gzip are the one exception, tested below.
                if tail == [0], body.codings.last == "gzip" { continue }
                for size in [1, .max] {
                    let outcome = try Decoded(body.bytes + tail, body.codings, by: size)
                    #expect(outcome == .failed(.undecodableContent), "\(body.name) and \(tail)")
                }
            }
        }
    }

    @Test("Zeros may follow a gzip stream")
    func padding() throws {
        for size in [1, 100, .max] {
            let padded = CodedBody.gzip.bytes + [UInt8](repeating: 0, count: 512)
            #expect(try Decoded(padded, ["gzip"], by: size) == .bytes(CodedBody.text))
            #expect(try Decoded(padded + CodedBody.gzip.bytes, ["gzip"], by: size) == .failed(.undecodableContent))
        }
    }

    @Test(
        "Several streams in a row are one body in gzip and zstd, and an error in the others", arguments: CodedBody.all)
    func members(_ body: CodedBody) throws {
        let isAllowed = ["gzip", "zstd"].contains(body.name)
        for size in [1, 50, .max] {
            let outcome = try Decoded(body.bytes + body.empty + body.bytes, body.codings, by: size)
            #expect(outcome == (isAllowed ? .bytes(CodedBody.text + CodedBody.text) : .failed(.undecodableContent)))
            let cut = try Decoded(body.bytes + body.bytes.dropLast(), body.codings, by: size)
            #expect(cut == .failed(.undecodableContent))
        }
    }

    @Test("Skippable frames of zstd are skipped")
    func skippable() throws {
        let skipped: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0] + Array("any".utf8)
        let body = CodedBody.zstd.bytes
        #expect(try Decoded(skipped + body + skipped + body, ["zstd"]) == .bytes(CodedBody.text + CodedBody.text))
        #expect(try Decoded(body + skipped.dropLast(), ["zstd"]) == .failed(.undecodableContent))
    }

    @Test(
        "A body that is not in the coding of its field is an error",
        arguments: ["gzip", "deflate", "br", "zstd"],
        ["plain text, not coded at all", "{\"a\": 1}", "<html></html>", "\u{1F}\u{8B}", "x", "\0\0\0\0"])
    func wrongHeader(_ coding: String, _ text: String) throws {
        #expect(try Decoded(Array(text.utf8), [coding]) == .failed(.undecodableContent))
    }

    @Test("A body of one coding is an error in every other coding")
    func confusion() throws {
        for body in CodedBody.all {
            for coding in ["gzip", "deflate", "br", "zstd"] where [coding] != body.codings {
                #expect(try Decoded(body.bytes, [coding]) == .failed(.undecodableContent), "\(body.name) as \(coding)")
            }
        }
    }

    @Test("A preset dictionary, which HTTP cannot name, is an error")
    func dictionary() throws {
        #expect(try Decoded([0x78, 0xBB, 0, 0, 0, 1, 3, 0], ["deflate"]) == .failed(.undecodableContent))
    }

    @Test("Names of codings are parsed from any number of fields, in any case; identity is ignored")
    func names() throws {
        #expect(ContentCoding.names(in: ["GZip , identity,,Br", " X-Gzip"]) == ["GZip", "Br", "X-Gzip"])
        #expect(try Decoded(CodedBody.gzip.bytes, ["X-GZIP"]) == .bytes(CodedBody.text))
        #expect(try Decoded(CodedBody.text, []) == .bytes(CodedBody.text))
    }

    @Test("An unknown coding, or too many codings, fail before the first byte")
    func unknown() throws {
        for name in ["compress", "aws-chunked", "utf-8", "gzip;q=1", String(repeating: "x", count: 10_000)] {
            let error = #expect(throws: RequestError.self) {
                _ = try ContentDecoder(codings: ["gzip", name], limits: DecodingLimits())
            }
            #expect(error?.code == .unsupportedCoding)
        }
        #expect(try Decoded([], Array(repeating: "gzip", count: 5)) == .bytes([]))
        #expect(try Decoded([], Array(repeating: "gzip", count: 6)) == .failed(.unsupportedCoding))
    }

    @Test("Output has pieces of at most 64 KiB, and several codings give the same text as a single one")
    func pieces() throws {
        let coded = try Bomb.zeros(1_000_000)
        for codings in [["gzip"], ["gzip", "gzip"]] {
            let body = codings.count == 1 ? coded : try Self.gzip(coded)
            var decoder = try ContentDecoder(codings: codings, limits: .none)
            var sizes: [Int] = []
            try body.withUnsafeBytes { bytes in try decoder.decode(bytes) { sizes.append($0.count) } }
            try decoder.finish()
            #expect(sizes.reduce(0, +) == 1_000_000)
            #expect(sizes.allSatisfy { (1...65_536).contains($0) })
        }
    }

    @Test("Any input is decoded or refused within the limits: damaged bodies and noise", arguments: 0..<8)
    func fuzz(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var limits = DecodingLimits()
        limits.maximumSize = 100_000
        for body in CodedBody.all + CodedBody.stacked {
            // Damage may be undetected without a checksum.
            let isChecked = body.name != CodedBody.br.name && body.name != CodedBody.raw.name
            for _ in 0..<rounds(40, nightly: 400) {
                var bytes = body.bytes
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let place = Int.random(in: bytes.indices, using: &random)
                    // This bit says whether a zstd frame has a checksum. Without it no damage can be detected.
                    if body.codings.last == "zstd", place == 4 { continue }
                    bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
                if random.once(in: 4) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
                if random.once(in: 4) { bytes += (0..<9).map { _ in UInt8.random(in: 0...255, using: &random) } }
                switch try Decoded(bytes, body.codings, limits: limits, by: Int.random(in: 1...200, using: &random)) {
                case .bytes(let decoded):
                    #expect(decoded.count <= 100_000)
                    if isChecked { #expect(decoded == CodedBody.text || bytes.isEmpty) }
                case .failed(let code):
                    #expect([.undecodableContent, .contentTooLarge].contains(code))
                }
            }
            let noise = (0..<2_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            let head = body.bytes.prefix(Int.random(in: 0..<body.bytes.count, using: &random))
            if case .bytes(let decoded) = try Decoded(head + noise, body.codings, limits: limits) {
                #expect(decoded.count <= 100_000)
                #expect(!isChecked)
            }
        }
    }

    private static func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
        var coded: [UInt8] = []
        try bytes.withUnsafeBytes { try ContentEncoder(.gzip).encode($0, isLast: true) { coded += $0 } }
        return coded
    }
}
