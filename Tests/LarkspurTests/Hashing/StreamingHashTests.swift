import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Hashes", .limited)
struct StreamingHashTests {
    /// The implementation: the system's library, or Swift if it is missing.
    enum Engine: CaseIterable, Sendable {
        case system, software

        func hash(_ bytes: some Sequence<UInt8>, _ algorithm: StreamingHash.Algorithm, pieces: Int = .max) -> [UInt8]? {
            var engine: (any HashEngine)?
            switch self {
            case .system: engine = SystemHash(algorithm)
            case .software: engine = SoftwareHash(algorithm)
            }
            guard var engine else { return nil }
            var rest = Array(bytes)[...]
            while !rest.isEmpty {
                rest.prefix(pieces).withUnsafeBytes { engine.update($0) }
                rest = rest.dropFirst(pieces)
            }
            return engine.finalize()
        }
    }

    /// The hashes by algorithm: of nothing, of "abc", of ten thousand a's, and of the hashes of the first 131 lengths
    /// of a pattern.
    private static let expected: [StreamingHash.Algorithm: [String]] = [
        .md5: [
            "d41d8cd98f00b204e9800998ecf8427e", "900150983cd24fb0d6963f7d28e17f72", "0d0c9c4db6953fee9e03f528cafd7d3e",
            "948a4ea64101794d6716d23b5585c2f6",
        ],
        .sha256: [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "27dd1f61b867b6a0f6e9d8a41c43231de52107e53ae424de8f847b821db4b711",
            "e5bbbecd60c3632a3455f465bfd8b079c30ef608d2bcc34227f4e5573029020e",
        ],
        .sha512: [
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "0593036f4f479d2eb8078ca26b1d59321a86bdfcb04cb40043694f1eb0301b8a"
                + "cd20b936db3c916ebcc1b609400ffcf3fa8d569d7e39293855668645094baf0e",
            "64f0fa2c388c213ab72e70dd7a2050b286b649a4d8502b11f1c224ddc64bd9fb"
                + "2d81abe0a78506dbafc258aee626779af484fe171272cd6b816bf914a41d8927",
        ],
        .sha512Half: [
            "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a",
            "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23",
            "f7c276eb265012c7651e2f6a326a4630e33058aa3b2a9d5fd47a78521c14de7e",
            "a2b95783538fde3ca04bf2a15ee044a3b171cd8c5b87bfd827cc69ac59bc187b",
        ],
    ]

    @Test(
        "Both implementations match the standards, for every length around a block's end",
        arguments: Engine.allCases, StreamingHash.Algorithm.allCases)
    func vectors(_ engine: Engine, _ algorithm: StreamingHash.Algorithm) throws {
        let pattern = (0..<131).map { UInt8($0 % 251) }
        let lengths = (0..<131).flatMap { engine.hash(pattern.prefix($0), algorithm) ?? [] }
        let inputs = [[], Array("abc".utf8), [UInt8](repeating: UInt8(ascii: "a"), count: 10_000), lengths]
        #expect(inputs.map { engine.hash($0, algorithm)?.hexadecimal ?? "" } == Self.expected[algorithm])
    }

    @Test(
        "However the bytes are cut, the hash is the same", arguments: Engine.allCases,
        [1, 3, 63, 64, 65, 127, 128, 129])
    func pieces(_ engine: Engine, _ size: Int) {
        let bytes = (0..<600).map { UInt8($0 % 251) }
        for algorithm in StreamingHash.Algorithm.allCases {
            let whole = engine.hash(bytes, algorithm)
            #expect(whole != nil)
            #expect(engine.hash(bytes, algorithm, pieces: size) == whole)
        }
    }

    @Test("A hash accepts texts and memory, and an unfinished hash is released")
    func streaming() {
        #expect(StreamingHash.hexadecimal("abc", .md5) == Self.expected[.md5]?[1])
        var hash = StreamingHash(.sha256)
        for byte in "abc".utf8 { withUnsafeBytes(of: byte) { hash.update($0) } }
        #expect(hash.finalize().hexadecimal == Self.expected[.sha256]?[1])
        _ = StreamingHash(.sha512)
    }

}
