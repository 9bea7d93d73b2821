import Foundation
import TestSupport
import Testing

@testable import LarkspurJSON

@Suite("The cost of JSON errors", .limited)
struct JSONErrorCostTests {
    @Test("The line of any offset is found, in any order", arguments: 0..<8)
    func lines(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pieces = ["a", "bc", "\n", "\r", "\r\n", "\n\r", String(repeating: "x", count: 1_000)]
        let text = (0..<200).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
        let bytes = Array(text.utf8)
        let first = Int.random(in: 0...3, using: &random)
        var expected: [(line: Int, column: Int)] = []
        var (line, start) = (1, first)
        for offset in first...bytes.count {
            expected.append((line, offset - start + 1))
            guard offset < bytes.count, bytes[offset] == 0x0A || bytes[offset] == 0x0D else { continue }
            if bytes[offset] == 0x0D || offset == first || bytes[offset - 1] != 0x0D { line += 1 }
            start = offset + 1
        }
        var lines = JSONLines()
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            let offsets = (0..<300).map { _ in Int.random(in: first...bytes.count, using: &random) }
            let wrong = offsets.filter { lines.locate($0, in: base, from: first) != expected[$0 - first] }
            #expect(wrong.isEmpty)
        }
    }

    private struct Pet: Decodable {
        let hasErrors: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            // The first error is on the last line of the object, the second one on its first line.
            let wrong = try? container.decode(Int.self, forKey: .name)
            let missing = try? container.decode(Int.self, forKey: .missing)
            hasErrors = wrong == nil && missing == nil
        }

        enum Key: CodingKey { case name, missing }
    }

    @Test("A large text with errors on earlier and later lines in turn is decoded in linear time")
    func alternatingErrors() throws {
        let element = "{\n \"a\": \"\(String(repeating: "x", count: 80))\",\n \"name\": \"Rex\"\n}"
        let text = "[" + Array(repeating: element, count: 10_000).joined(separator: ",\n") + "]"
        let pets = try JSON.Decoder().decode([Pet].self, from: Data(text.utf8))
        #expect(pets.count == 10_000 && pets.allSatisfy(\.hasErrors))
    }

    private final class Loop: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    @Test("An object that encodes itself as a single value fails, and does not use up the stack")
    func endlessValue() {
        #expect(throws: EncodingError.self) { try JSON.Encoder().encode(Loop()) }
    }

    private struct Wrapper<Value: Encodable>: Encodable {
        let value: Value

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    @Test("Wrappers around nested arrays are encoded")
    func wrappers() throws {
        let value = Wrapper(value: [Wrapper(value: [Wrapper(value: Wrapper(value: 1))])])
        #expect(try String(decoding: JSON.Encoder().encode(value), as: UTF8.self) == "[[1]]")
    }
}
