import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Containers of JSON objects", .limited)
struct JSONContainersTests {
    /// A type whose keys are a type of their own for each tag.
    private struct Tagged<Tag>: Decodable {
        let value: Int
        let next: [Tagged]?
    }

    /// More types of keys than a decoding remembers.
    private struct Row: Decodable {
        let a: Tagged<Int8>, b: Tagged<Int16>, c: Tagged<Int32>, d: Tagged<Int64>, e: Tagged<UInt8>, f: Tagged<UInt16>
        let g: Tagged<UInt32>, h: Tagged<UInt64>, i: Tagged<Float>, j: Tagged<Double>, k: Tagged<String>,
            l: Tagged<Bool>

        var values: [Int] {
            [
                a.value, b.value, c.value, d.value, e.value, f.value, g.value, h.value, i.value, j.value, k.value,
                l.value,
            ]
        }
    }

    @Test("Objects of many types are decoded in turn, each with its own keys")
    func manyTypes() throws {
        let names = "abcdefghijkl".map { String($0) }
        let rows = (0..<6).map { row in
            let members = names.enumerated().map { "\"\($1)\":{\"value\":\(row * 100 + $0)}" }
            return "{\(members.joined(separator: ","))}"
        }
        let data = Data("[\(rows.joined(separator: ","))]".utf8)
        for decoder in [JSON.Decoder(), JSON.Decoder { $0.keyDecodingStrategy = .convertFromSnakeCase }] {
            let decoded = try decoder.decode([Row].self, from: data)
            #expect(decoded.map(\.values) == (0..<6).map { row in (0..<12).map { row * 100 + $0 } })
        }
    }

    @Test("Objects of one type inside each other are decoded, and errors have their paths")
    func nested() throws {
        let text = #"{"value":1,"next":[{"value":2,"next":[{"value":3},{"value":4}]},{"value":5},{"next":[]}]}"#
        let error = #expect(throws: DecodingError.self) {
            try JSON.Decoder().decode(Tagged<Int>.self, from: Data(text.utf8))
        }
        guard case .keyNotFound(let key, let context) = error else {
            Issue.record("another error")
            return
        }
        #expect(key.stringValue == "value" && context.codingPath.map(\.stringValue) == ["next", "Index 2"])
        let valid = text.replacingOccurrences(of: #"{"next":[]}"#, with: #"{"value":6}"#)
        let decoded = try JSON.Decoder().decode(Tagged<Int>.self, from: Data(valid.utf8))
        #expect(decoded.next?.map(\.value) == [2, 5, 6] && decoded.next?[0].next?.map(\.value) == [3, 4])
    }

    /// A type that keeps its container.
    private struct Keeper: Decodable {
        enum Key: CodingKey { case name }
        let container: KeyedDecodingContainer<Key>
        init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: Key.self) }
    }

    @Test("A container that is kept reads its own object after the call of the decoder")
    func kept() throws {
        let names = (0..<20).map { "the name of number \($0)" }
        let text = "[" + names.map { "{\"name\":\"\($0)\"}" }.joined(separator: ",") + "]"
        let keepers = try JSON.Decoder().decode([Keeper].self, from: Data(text.utf8))
        #expect(try keepers.map { try $0.container.decode(String.self, forKey: .name) } == names)
    }
}
