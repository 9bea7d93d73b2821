import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Objects with many unusual keys", .limited)
struct JSONUnusualKeysTests {
    /// The keys of an object in the order of the container.
    private struct Keys: Decodable {
        let keys: [String]
        init(from decoder: any Decoder) throws {
            keys = try decoder.container(keyedBy: DecodedTypes.FreeKey.self).allKeys.map(\.stringValue)
        }
    }

    private func text(_ members: [String]) -> Data { Data("{\(members.joined(separator: ","))}".utf8) }

    @Test("Escaped keys are decoded in time that grows with their number", arguments: [16, 17, 50_000])
    func escaped(count: Int) throws {
        let data = text((0..<count).map { "\"\\u0061\($0)\":\($0)" })
        let names = (0..<count).map { "a\($0)" }
        let decoded = try JSON.Decoder().decode([String: Int].self, from: data)
        #expect(decoded == Dictionary(uniqueKeysWithValues: zip(names, 0..<count)))
        #expect(try JSON.Decoder().decode(Keys.self, from: data).keys == names)
    }

    @Test("The last of equal keys counts, and keys are compared as strings", arguments: [0, 40])
    func equalKeys(others: Int) throws {
        let members = [#""a":1"#, #""\u0061":2"#, "\"é\":3", "\"e\u{301}\":4", "\"\":5"]
        let data = text(members + (0..<others).map { "\"\\u006b\($0)\":\($0)" })
        let decoded = try JSON.Decoder().decode([String: Int].self, from: data)
        #expect(decoded.count == 3 + others)
        #expect(decoded["a"] == 2 && decoded["\u{e9}"] == 4 && decoded[""] == 5)
    }
}
