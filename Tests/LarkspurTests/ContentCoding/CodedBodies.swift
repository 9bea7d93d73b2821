import Foundation
import Larkspur
import Testing

@testable import LarkspurCore

/// A text compressed by other programs: Python's gzip and zlib modules, brotli's own library, the zstd command.
struct CodedBody: Sendable, CustomTestStringConvertible {
    let name: String
    /// The names as in `Content-Encoding`.
    let codings: [String]
    let bytes: [UInt8]
    /// The empty text in this coding.
    let empty: [UInt8]

    var testDescription: String { name }

    init(_ name: String, _ codings: [String], _ bytes: String, empty: String) {
        self.name = name
        self.codings = codings
        self.bytes = Data(base64Encoded: bytes).map { [UInt8]($0) } ?? []
        self.empty = Data(base64Encoded: empty).map { [UInt8]($0) } ?? []
    }

    static let text = [UInt8](
        "Larks spur larks on: a lark that spurs a lark is a larkspur, and larkspur in larkspur fields is larks' delight."
            .utf8)

    static let all = [gzip, zlib, raw, br, zstd]

    static let gzip = CodedBody(
        "gzip", ["gzip"],
        "H4sIAAAAAAACA/NJLMouViguKC1SyAEz8/OsFBLBbIWSjMQSsFQxTCQTxgKJ6igk5qXAeQqZeQh2WmZqTkoxSDlYSF0hJTUnMz2jRA8ARL5vtG8AAAA=",
        empty: "H4sIAAAAAAACAwMAAAAAAAAAAAA=")
    static let zlib = CodedBody(
        "deflate in zlib's format", ["deflate"],
        "eNrzSSzKLlYoLigtUsgBM/PzrBQSwWyFkozEErBUMUwkE8YCieooJOalwHkKmXkIdlpmak5KMUg5WEhdISU1JzM9o0QPALP2J/U=",
        empty: "eJwDAAAAAAE=")
    static let raw = CodedBody(
        "deflate as it is", ["deflate"],
        "80ksyi5WKC4oLVLIATPz86wUEsFshZKMxBKwVDFMJBPGAonqKCTmpcB5Cpl5CHZaZmpOSjFIOVhIXSElNSczPaNEDwA=",
        empty: "AwA=")
    static let br = CodedBody(
        "br", ["br"],
        "G24ACETdlurai0g3ZEs53HCUKR/q5PQQKLSKDtfmYSiZ5zaGQ8dTe0G902sLer9wsJcDTuJbTqSiNFHRmmEPkqqznkxjiLXJDg==",
        empty: "Bg==")
    static let zstd = CodedBody(
        "zstd", ["zstd"],
        "KLUv/QRYfQIAZANMYXJrcyBzcHVyIGxvbjogYSB0aGF0c2lzcHVyLCBhbmRpbmZpZWxkcyBpcycgZGVsaWdodC4JADbHeS0KoYWd4lrI1STm895LexYKHbB9LlM=",
        empty: "KLUv/SQAAQAAmenYUQ==")

    static let stacked = [
        CodedBody(
            "gzip, then br", ["gzip", "br"],
            "iyqAH4sIAAAAAAACA/NJLMouViguKC1SyAEz8/OsFBLBbIWSjMQSsFQxTCQTxgKJ6igk5qXAeQqZeQh2WmZqTkoxSDlYSF0hJTUnMz2jRA8ARL5vtG8AAAAD",
            empty: ""),
        CodedBody(
            "deflate, then gzip, then zstd", ["deflate", "gzip", "zstd"],
            "KLUv/QRYCQMAH4sIAAAAAAACAwFKALX/eJzzSSzKLlYoLigtUsgBM/PzrBQSwWyFkozEErBUMUwkE8YCieooJOalwHkKmXkIdlpmak5KMUg5WEhdISU1JzM9o0QPALP2J/VD+qVsSgAAAK4gNrY=",
            empty: ""),
    ]
}

/// The result of decoding.
enum Decoded: Equatable {
    case bytes([UInt8])
    case failed(RequestError.Code)

    /// - Parameter size: The number of bytes that each call of the decoder gets.
    init(_ bytes: [UInt8], _ codings: [String], limits: DecodingLimits = DecodingLimits(), by size: Int = .max) throws {
        var decoded: [UInt8] = []
        do {
            var decoder = try ContentDecoder(codings: codings, limits: limits)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try bytes[start...].prefix(size).withUnsafeBytes { try decoder.decode($0) { decoded += $0 } }
            }
            try decoder.finish()
            self = .bytes(decoded)
        } catch let error as RequestError {
            self = .failed(error.code)
        }
    }
}

/// Decompression bombs, each with its codings.
enum Bomb {
    static func zeros(_ count: Int, _ coding: RequestCompressor.Coding = .gzip) throws -> [UInt8] {
        let encoder = try ContentEncoder(coding)
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        var bomb: [UInt8] = []
        for start in stride(from: 0, to: count, by: piece.count) {
            let isLast = start + piece.count >= count
            try piece.prefix(count - start).withUnsafeBytes { try encoder.encode($0, isLast: isLast) { bomb += $0 } }
        }
        return bomb
    }

    /// 50 MiB of zeros.
    static let gzip = Result { try zeros(50 << 20) }

    /// A zstd frame of blocks that repeat one byte (RFC 8878, section 3.1.1).
    static func zstd(blocks: Int, windowExponent: UInt8 = 7) -> [UInt8] {
        let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
        let header: [UInt8] = [0, windowExponent << 3]
        let blockSize = 128 << 10
        func block(isLast: Bool) -> [UInt8] {
            let head = blockSize << 3 | 1 << 1 | (isLast ? 1 : 0)
            return [UInt8(head & 0xFF), UInt8(head >> 8 & 0xFF), UInt8(head >> 16 & 0xFF), 0]
        }
        return magic + header + (1...blocks).flatMap { block(isLast: $0 == blocks) }
    }

    /// 200 MiB of zeros, compressed by brotli's own library.
    static let br = [UInt8](
        Data(
            base64Encoded: """
                z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69//8//+HfwIgDgsAdO//+f//D/8EQBwWAOje\
                //P//x/+CYA4LADQvf/n//8//BMAcVgAoHv/z///f/gnAOKwAED3/p/////wTwDEYQGA7v0/////4Z8AiMMCAN37f/7//8M/ARCHBQC69\
                //5//+HfwIgDgsAdO//AA==
                """) ?? Data())
}
