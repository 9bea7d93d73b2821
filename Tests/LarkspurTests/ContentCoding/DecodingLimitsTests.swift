import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Limits of decoding", .limited)
struct DecodingLimitsTests {
    /// The number of decoded bytes, and the error if there is one.
    private func outcome(
        _ bytes: [UInt8], _ codings: [String], _ limits: DecodingLimits = DecodingLimits()
    ) throws -> (count: Int, code: RequestError.Code?) {
        var count = 0
        do {
            var decoder = try ContentDecoder(codings: codings, limits: limits)
            try bytes.withUnsafeBytes { bytes in try decoder.decode(bytes) { count += $0.count } }
            try decoder.finish()
            return (count, nil)
        } catch let error as RequestError {
            return (count, error.code)
        }
    }

    @Test(
        "A bomb is refused as soon as it exceeds 4 MiB",
        arguments: ["gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip"])
    func bombs(_ names: String) throws {
        let codings = ContentCoding.names(in: [names])
        var bomb =
            switch codings[0] {
            case "br": Bomb.br
            case "zstd": Bomb.zstd(blocks: 400)
            case "deflate": try Bomb.zeros(50 << 20, .deflate)
            default: try Bomb.gzip.get()
            }
        for _ in codings.dropFirst() {
            var coded: [UInt8] = []
            try bomb.withUnsafeBytes { try ContentEncoder(.gzip).encode($0, isLast: true) { coded += $0 } }
            bomb = coded
        }
        let (count, code) = try outcome(bomb, codings)
        #expect(code == .contentTooLarge)
        #expect(count <= 4 << 20)
        let whole = try outcome(bomb, codings, .none)
        #expect(whole.count == (codings[0] == "br" ? 200 : 50) << 20)
        #expect(whole.code == nil)
    }

    @Test("The limits apply to each of several codings: zeros after a gzip stream decode to nothing, but count")
    func innerBomb() throws {
        let padded = CodedBody.gzip.bytes + [UInt8](repeating: 0, count: 20 << 20)
        var bomb: [UInt8] = []
        try padded.withUnsafeBytes { try ContentEncoder(.gzip).encode($0, isLast: true) { bomb += $0 } }
        #expect(try outcome(bomb, ["gzip", "gzip"]).code == .contentTooLarge)
        #expect(try outcome(bomb, ["gzip", "gzip"], .none).code == nil)
    }

    @Test("The ratio applies to the whole, even if each of several codings adds little")
    func wholeRatio() throws {
        let bomb = try Bomb.gzip.get()
        var coded: [UInt8] = []
        try bomb.withUnsafeBytes { try ContentEncoder(.gzip).encode($0, isLast: true) { coded += $0 } }
        var limits = DecodingLimits()
        limits.maximumRatio = 2_000
        #expect(try outcome(bomb, ["gzip"], limits).code == nil)
        #expect(try outcome(coded, ["gzip", "gzip"], limits).code == .contentTooLarge)
    }

    @Test("Long texts pass, and so do short repetitive bodies")
    func legitimate() throws {
        let line = "2026-11-21T10:53:55Z INFO request finished status=200 path=/users/"
        let text = Array((0..<200_000).map { "\(line)\($0 &* 7_919 % 100_003)\n" }.joined().utf8)
        var coded: [UInt8] = []
        try text.withUnsafeBytes { try ContentEncoder(.gzip).encode($0, isLast: true) { coded += $0 } }
        #expect(text.count > 12 << 20)
        #expect(coded.count * 10 < text.count)
        #expect(try outcome(coded, ["gzip"]) == (text.count, nil))
        #expect(try outcome(Bomb.zeros(4 << 20), ["gzip"]) == (4 << 20, nil))
    }

    @Test("Each limit is exact to the byte")
    func exact() throws {
        let coded = try Bomb.zeros(100_000)
        var limits = DecodingLimits.none
        limits.maximumSize = 100_000
        #expect(try outcome(coded, ["gzip"], limits).code == nil)
        limits.maximumSize = 99_999
        #expect(try outcome(coded, ["gzip"], limits).code == .contentTooLarge)
        limits = .none
        (limits.maximumRatio, limits.sizeFreeOfRatio) = (10, 100_000)
        #expect(try outcome(coded, ["gzip"], limits).code == nil)
        limits.sizeFreeOfRatio = 99_999
        #expect(try outcome(coded, ["gzip"], limits).code == .contentTooLarge)
        limits.maximumRatio = UInt64(100_000 / coded.count + 1)
        #expect(try Decoded(coded, ["gzip"], limits: limits) == .bytes([UInt8](repeating: 0, count: 100_000)))
    }

    /// Bodies that go on without content: the coding, the beginning, and the bytes to repeat.
    private static let endless: [(String, [UInt8], [UInt8])] = [
        ("gzip", [], CodedBody.gzip.empty),
        ("gzip", CodedBody.gzip.empty, [0]),
        ("deflate", [], [0, 0, 0, 0xFF, 0xFF]),
        ("deflate", [0x78, 0x9C], [0, 0, 0, 0xFF, 0xFF]),
        ("br", [0x0C], [0x06]),
        ("zstd", [], CodedBody.zstd.empty),
        ("zstd", [0x28, 0xB5, 0x2F, 0xFD, 0, 0x38], [0, 0, 0]),
        ("zstd", [], [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 1]),
    ]

    @Test("Bytes that decode to nothing have a limit of 1 MiB in each coding", arguments: endless)
    func nothing(_ coding: String, _ start: [UInt8], _ empty: [UInt8]) throws {
        let allowed = start + Self.repeated(empty, 1_000_000 / empty.count)
        #expect(try outcome(allowed, [coding]).code != .contentTooLarge)
        let tooMany = allowed + Self.repeated(empty, 100_000 / empty.count)
        #expect(try outcome(tooMany, [coding]).code == .contentTooLarge)
        #expect(try outcome(tooMany, [coding], .none).code != .contentTooLarge)
        var coded: [UInt8] = []
        try tooMany.withUnsafeBytes { try ContentEncoder(.gzip).encode($0, isLast: true) { coded += $0 } }
        #expect(try outcome(coded, [coding, "gzip"]).code == .contentTooLarge)
    }

    /// Returns the bytes a number of times. An unoptimized `flatMap` would take seconds.
    private static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        var result = bytes
        while result.count < count * bytes.count { result += result }
        return Array(result.prefix(count * bytes.count))
    }

    @Test("Each decoded byte allows for 64 bytes without content, and for no more")
    func emptySize() throws {
        let body = CodedBody.gzip
        var limits = DecodingLimits()
        let coded = body.bytes + (0..<1_000).flatMap { _ in body.empty } + body.bytes
        let most = coded.count - body.bytes.count
        limits.maximumEmptySize = UInt64(most - 64 * CodedBody.text.count)
        #expect(try outcome(coded, body.codings, limits).code == nil)
        limits.maximumEmptySize -= 1
        #expect(try outcome(coded, body.codings, limits).code == .contentTooLarge)
    }

    @Test("A zstd frame may require a window of 8 MiB and no larger one", arguments: [(13, true), (14, false)])
    func window(_ exponent: UInt8, _ isAllowed: Bool) throws {
        let (count, code) = try outcome(Bomb.zstd(blocks: 2, windowExponent: exponent), ["zstd"])
        #expect(code == (isAllowed ? nil : .undecodableContent))
        #expect(count == (isAllowed ? 256 << 10 : 0))
    }

    #if os(Linux)
        /// Sanitizers keep freed memory, so a measurement has no meaning with them.
        private static let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

        @Test(
            "A response of 200 MiB of zeros in 200 KB of gzip is refused within 8 MiB of memory",
            .disabled(if: isSanitized))
        func peakMemory() async {
            await #expect(processExitsWith: .success) {
                let bomb = Data(try Bomb.zeros(200 << 20))
                let damaged = Data("no gzip".utf8)
                let log = TransportLog()
                let session = log.session { _, number in
                    .response(headers: ["Content-Encoding": "gzip"], chunks: [number == 1 ? damaged : bomb])
                }
                // A first decoder and a first error, so that their code is in memory.
                let damage = await session.request("http://h/").serializingData().response.error
                #expect(damage?.code == .undecodableContent)
                let before = try Memory(resettingPeak: true)
                let error = await session.request("http://h/").serializingData().response.error
                #expect(error?.code == .contentTooLarge)
                let growth = try Memory().peak - before.current
                #expect(growth < 8 << 20, "grew by \(growth) bytes")
            }
        }
    #endif
}

#if os(Linux)
    /// The process's resident memory in bytes, as the kernel counts it.
    private struct Memory {
        let current: Int
        let peak: Int

        init(resettingPeak: Bool = false) throws {
            if resettingPeak { try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            func value(_ name: String) throws -> Int {
                let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
                return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
                    * 1_024
            }
            current = try value("VmRSS")
            peak = try value("VmHWM")
        }
    }
#endif
