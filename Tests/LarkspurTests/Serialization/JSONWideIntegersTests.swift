import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("Integers of 128 bits in JSON", .limited)
struct JSONWideIntegersTests {
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private struct Wide: Codable, Equatable {
        var least = Int128.min
        var most = UInt128.max
        var list: [Int128] = [0, -1, .max]
        var others: [UInt128?] = [nil, 7]
        var none: UInt128?
        var some: Int128? = 5
    }

    @Test("They are encoded and decoded as by Foundation")
    func sameValues() throws {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let foundation = JSONEncoder()
        foundation.outputFormatting = .sortedKeys
        let data = try foundation.encode(Wide())
        #expect(try JSON.Encoder(foundation).encode(Wide()) == data)
        #expect(try JSON.Decoder().decode(Wide.self, from: data) == Wide())
        #expect(try JSON.Encoder().encode(Int128.min) == JSONEncoder().encode(Int128.min))
    }

    @Test(
        "Numbers that do not fit fail as in Foundation",
        arguments: ["1.5", "-1", "340282366920938463463374607431768211456", "\"1\"", "null", "12"])
    func mismatches(text: String) {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let data = Data(text.utf8)
        let expected = JSONComparison.outcome(UInt128.self, JSONDecoder(), data)
        #expect(JSONComparison.outcome(UInt128.self, JSON.Decoder(), data) == expected)
    }
}
