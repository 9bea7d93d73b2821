import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Rules of JSON.Encoder beyond those of JSONEncoder", .limited)
struct JSONEncoderRulesTests {
    private typealias Key = DecodedTypes.FreeKey

    private struct Failure: Error {}

    private func text(_ body: @escaping (any Encoder) throws -> Void) throws -> String {
        String(decoding: try JSON.Encoder().encode(EncodedByClosure(body)), as: UTF8.self)
    }

    @Test("The last value of a key counts, at the place of the first")
    func duplicates() throws {
        let written = try text { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: Key("a"))
            try container.encode("é", forKey: Key("aéb"))
            try container.encode([1, 2], forKey: Key("a"))
            try container.encode(2, forKey: Key("ae\u{301}b"))
            var nested = container.nestedUnkeyedContainer(forKey: Key("a"))
            try nested.encode(3)
            _ = container.nestedContainer(keyedBy: Key.self, forKey: Key("c"))
            try container.encode(true, forKey: Key("c"))
        }
        #expect(written == #"{"a":[1,2,3],"aéb":2,"c":true}"#)
    }

    @Test("Each of many keys that are encoded twice has its last value")
    func manyDuplicates() throws {
        let written = try text { encoder in
            var container = encoder.container(keyedBy: Key.self)
            for round in 0..<2 {
                for key in 0..<500 { try container.encode(round, forKey: Key("k\(key)")) }
            }
            for key in 0..<500 {
                var nested = container.nestedContainer(keyedBy: Key.self, forKey: Key("n\(key % 250)"))
                try nested.encode(key, forKey: Key("\(key)"))
            }
        }
        let value = try JSON(text: written, duplicateKeys: .refuse)
        #expect(value.object?.count == 750 && value["k499"] == 1)
        #expect(value["n7"] == ["7": 7, "257": 257])
    }

    @Test("A nested container of another type replaces the earlier value of the key")
    func otherTypes() throws {
        let written = try text { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(["x": 1], forKey: Key("a"))
            var list = container.nestedUnkeyedContainer(forKey: Key("a"))
            try list.encode(1)
            var object = container.nestedContainer(keyedBy: Key.self, forKey: Key("a"))
            try object.encode(2, forKey: Key("y"))
            try object.encode(Float(0.5), forKey: Key("z"))
        }
        #expect(written == #"{"a":{"y":2,"z":0.5}}"#)
    }

    @Test("A value that changes its type has the last one")
    func changedTypes() throws {
        let written = try text { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(
                EncodedByClosure { encoder in
                    var object = encoder.container(keyedBy: Key.self)
                    try object.encode(1, forKey: Key("a"))
                    _ = object.superEncoder()
                    var list = encoder.unkeyedContainer()
                    try list.encode([true])
                })
            try container.encode(
                EncodedByClosure { encoder in
                    var single = encoder.singleValueContainer()
                    try single.encode("first")
                    try single.encode(["last": 1])
                })
        }
        #expect(written == #"[[[true]],{"last":1}]"#)
    }

    @Test("A member or an element that fails is not there, and the others stay")
    func failedMembers() throws {
        let failing = EncodedByClosure { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: Key("lost"))
            var nested = container.nestedUnkeyedContainer(forKey: Key("nested"))
            try nested.encode(1)
            try container.encode([EncodedByClosure { _ in throw Failure() }], forKey: Key("list"))
        }
        let written = try text { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try? container.encode(failing, forKey: Key("a"))
            try container.encode(1, forKey: Key("b"))
            try? container.encode(Double.nan, forKey: Key("c"))
            var list = container.nestedUnkeyedContainer(forKey: Key("d"))
            try? list.encode(failing)
            try list.encode(list.count)
            try? list.encode(Double.infinity)
            try container.encode(
                EncodedByClosure { encoder in
                    var single = encoder.singleValueContainer()
                    try? single.encode(failing)
                    try single.encode(5)
                }, forKey: Key("e"))
        }
        #expect(written == #"{"b":1,"d":[0],"e":5}"#)
    }

    @Test("An encoder that is used after the end of its value fails, and changes nothing")
    func lateUse() throws {
        let written = try text { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var kept: (any Encoder)?
            var keptObject: KeyedEncodingContainer<Key>?
            let keeper = EncodedByClosure { encoder in
                kept = encoder
                keptObject = encoder.container(keyedBy: Key.self)
            }
            try container.encode(keeper, forKey: Key("a"))
            #expect(throws: EncodingError.self) { try keptObject?.encode(1, forKey: Key("late")) }
            #expect(throws: EncodingError.self) {
                var single = kept?.singleValueContainer()
                try single?.encode(1)
            }
            var list = kept?.unkeyedContainer()
            try list?.encode(1)
            var nested = keptObject?.nestedUnkeyedContainer(forKey: Key("late"))
            try nested?.encode(1)
            let other = container
            try container.encode(
                EncodedByClosure { encoder in
                    var other = other
                    #expect(throws: EncodingError.self) { try other.encode(1, forKey: Key("early")) }
                    var single = encoder.singleValueContainer()
                    try single.encode(2)
                }, forKey: Key("b"))
        }
        #expect(written == #"{"a":{},"b":2}"#)
    }

    @Test("Values deeper than 512 levels fail")
    func depth() throws {
        func nested(_ depth: Int) -> EncodedByClosure {
            EncodedByClosure { encoder in
                var container = encoder.unkeyedContainer()
                for _ in 1..<depth { container = container.nestedUnkeyedContainer() }
                try container.encode(true)
            }
        }
        #expect(try JSON.Encoder().encode(nested(512)).count == 1_028)
        #expect(throws: EncodingError.self) { try JSON.Encoder().encode(nested(513)) }
    }

    @Test("Objects with equal keys share them without sharing changes")
    func sharedKeys() throws {
        var value = try JSON(
            text: #"[{"a":{"a":1},"b":2},{"a":{"a":3},"b":4},{"a":5,"c":6},{"a":7,"a":8},{"a":9,"b":0}]"#)
        value[1]["c"] = 10
        value[0].removeValue(forKey: "a")
        value[4]["b"] = nil
        #expect(
            value.text()
                == #"[{"b":2},{"a":{"a":3},"b":4,"c":10},{"a":5,"c":6},{"a":8},{"a":9,"b":null}]"#)
        let keys = (0..<40).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        var large = try JSON(text: "[{\(keys)},{\(keys)},{\(keys)}]")
        large[1]["k40"] = 40
        large[2].removeValue(forKey: "k0")
        #expect(large[0].object?.count == 40 && large[0]["k40"].isNull && large[0]["k39"] == 39)
        #expect(large[1]["k40"] == 40 && large[1]["k0"] == 0)
        #expect(large[2].object?.count == 39 && large[2]["k0"].isNull && large[2]["k39"] == 39)
    }
}
