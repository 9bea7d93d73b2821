import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Values that are encoded to JSON in several steps", .limited)
struct JSONEncoderStepsTests {
    private typealias Key = DecodedTypes.FreeKey

    /// Returns the text of the value, compact and with sorted keys.
    private func text(_ body: @escaping (any Encoder) throws -> Void) throws -> String {
        let encoder = JSON.Encoder { $0.outputFormatting = .sortedKeys }
        return String(decoding: try encoder.encode(EncodedByClosure(body)), as: UTF8.self)
    }

    /// Returns the text of the value, and expects the bytes of Foundation's encoder.
    private func sameText(_ body: @escaping (any Encoder) throws -> Void) throws -> String {
        for format in [.sortedKeys, [.sortedKeys, .prettyPrinted]] as [JSONEncoder.OutputFormatting] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = format
            #expect(try JSON.Encoder(encoder).encode(EncodedByClosure(body)) == encoder.encode(EncodedByClosure(body)))
        }
        return try text(body)
    }

    /// An object with a nested container.
    private var base: EncodedByClosure {
        EncodedByClosure { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: Key("n"))
            try nested.encode(1, forKey: Key("x"))
            try container.encode(2, forKey: Key("y"))
        }
    }

    @Test("A member or an element that fails does not remove the nested container before it")
    func failedSiblings() throws {
        let written = try sameText { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: Key("k"))
            try nested.encode(1, forKey: Key("x"))
            try? container.encode(Double.nan, forKey: Key("b"))
            var list = container.nestedUnkeyedContainer(forKey: Key("l"))
            var first = list.nestedUnkeyedContainer()
            try? list.encode(Double.nan)
            try first.encode(2)
            var second = list.nestedContainer(keyedBy: Key.self)
            try? list.encode(Float.infinity)
            try second.encode(3, forKey: Key("y"))
            var parent = container.superEncoder().container(keyedBy: Key.self)
            try? container.encode(Double.nan, forKey: Key("b"))
            try parent.encode(4, forKey: Key("z"))
        }
        #expect(written == #"{"k":{"x":1},"l":[[2],{"y":3}],"super":{"z":4}}"#)
    }

    @Test("A container continues an object that was encoded as a single value")
    func continuedObjects() throws {
        let base = base
        let written = try sameText { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(["a": 1, "b": 0])
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(2, forKey: Key("b"))
            try container.encode(base, forKey: Key("c"))
        }
        #expect(written == #"{"a":1,"b":2,"c":{"n":{"x":1},"y":2}}"#)
        let outer = try sameText { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(base)
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(3, forKey: Key("z"))
        }
        #expect(outer == #"{"n":{"x":1},"y":2,"z":3}"#)
    }

    @Test("A container continues an array that was encoded as a single value, and replaces other types")
    func continuedArrays() throws {
        let base = base
        let written = try text { encoder in
            var list = encoder.unkeyedContainer()
            try list.encode(
                EncodedByClosure { encoder in
                    var single = encoder.singleValueContainer()
                    try single.encode([base])
                    var list = encoder.unkeyedContainer()
                    try list.encode(1e20)
                })
            for first in [true, false] {
                try list.encode(
                    EncodedByClosure { encoder in
                        var single = encoder.singleValueContainer()
                        try first ? single.encode("[1]") : single.encode(["a": 1])
                        var list = encoder.unkeyedContainer()
                        try list.encode(first)
                    })
            }
        }
        #expect(written == #"[[{"n":{"x":1},"y":2},1e+20],[true],[false]]"#)
    }

    @Test("A nested container continues the value of its key, which may have nested containers")
    func continuedMembers() throws {
        let base = base
        let written = try sameText { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(base, forKey: Key("k"))
            var again = container.nestedContainer(keyedBy: Key.self, forKey: Key("k"))
            try again.encode(3, forKey: Key("z"))
            try container.encode(4, forKey: Key("l"))
        }
        #expect(written == #"{"k":{"n":{"x":1},"y":2,"z":3},"l":4}"#)
    }

    @Test("A value that is too deep to be continued fails, and is not lost")
    func continuedDepth() throws {
        func value(_ depth: Int) -> EncodedByClosure {
            let deep = EncodedByClosure { encoder in
                var list = encoder.unkeyedContainer()
                for _ in 2..<depth { list = list.nestedUnkeyedContainer() }
            }
            return EncodedByClosure { encoder in
                var single = encoder.singleValueContainer()
                try single.encode(["a": deep])
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: Key("b"))
            }
        }
        #expect(try JSON.Encoder().encode(value(JSON.maximumDepth)).count == 2 * JSON.maximumDepth + 10)
        #expect(throws: EncodingError.self) { try JSON.Encoder().encode(value(JSON.maximumDepth + 1)) }
    }

    @Test("A container cannot be used once its value has another type")
    func changedTypes() throws {
        let written = try text { encoder in
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(1, forKey: Key("a"))
            var list = encoder.unkeyedContainer()
            try list.encode(2)
            #expect(throws: EncodingError.self) { try object.encode(3, forKey: Key("b")) }
            #expect(throws: EncodingError.self) { try object.encode([3], forKey: Key("b")) }
            var dropped = object.nestedUnkeyedContainer(forKey: Key("c"))
            try dropped.encode(4)
            _ = object.superEncoder()
            #expect(list.count == 1)
            var single = encoder.singleValueContainer()
            try single.encode(5)
            #expect(throws: EncodingError.self) { try list.encode(6) }
            _ = list.nestedUnkeyedContainer()
            _ = list.superEncoder()
            #expect(list.count == 0)
        }
        #expect(written == "5")
    }

    @Test("Objects that contain each other fail")
    func cycles() {
        final class Link: Encodable {
            var next: [Link] = []
        }
        let link = Link()
        link.next = [link]
        defer { link.next = [] }
        #expect(throws: EncodingError.self) { try JSON.Encoder().encode(link) }
    }

    @Test("A decimal that is not a number fails with its path")
    func decimals() {
        #expect {
            try JSON.Encoder().encode(["a": [Decimal(1), .nan]])
        } throws: { error in
            guard case EncodingError.invalidValue(_, let context) = error else { return false }
            return context.codingPath.map(\.stringValue) == ["a", "Index 1"]
        }
    }
}
