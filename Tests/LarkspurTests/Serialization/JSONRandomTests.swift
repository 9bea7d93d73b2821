import Foundation
import Larkspur
import TestSupport
import Testing

@Suite("JSON coders beside Foundation's, with random types", .limited)
struct JSONRandomTests {
    private static let seeds: Range<UInt64> = 0..<10

    private func outcome(_ shape: JSONShape, _ decoder: any DataDecoder, _ text: String) -> String {
        do {
            return try JSONShape.$next.withValue(shape) {
                try decoder.decode(JSONShaped.self, from: Data(text.utf8)).text
            }
        } catch {
            return JSONComparison.summary(of: error)
        }
    }

    /// Returns whether the decoders differ in a way that is not in the table of the guide "Decoding JSON".
    private func differs(_ expected: String, _ actual: String, _ text: String) -> Bool {
        if expected == actual { return false }
        // Foundation takes a zero with an exponent for a number with leading zeros.
        if text.contains(/[^0-9.]0[eE]/) { return false }
        // Foundation's errors about numbers and dates have no path.
        if expected == "dataCorrupted at ", actual.hasPrefix("dataCorrupted at /") { return false }
        // Foundation notices some faults of the text late or never, and takes the first of duplicate keys.
        guard (try? JSON(text: text)) != nil else { return actual != "dataCorrupted at " }
        return (try? JSON(text: text, duplicateKeys: .refuse)) != nil
    }

    @Test("Random types are decoded from random documents with Foundation's values and errors", arguments: seeds)
    func decoding(seed: UInt64) {
        var grammar = JSONShapeGrammar(random: SeededRandom(seed: seed))
        let (foundation, larkspur) = (JSONDecoder(), JSON.Decoder())
        var valid = 0
        for round in 0..<rounds(300, nightly: 10_000) {
            let shape = grammar.shape()
            let text = grammar.document(shape)
            let expected = outcome(shape, foundation, text)
            let actual = outcome(shape, larkspur, text)
            if !actual.contains(" at ") { valid += 1 }
            if differs(expected, actual, text) {
                Issue.record("seed \(seed), round \(round), \(shape) from \(text): \(expected) but \(actual)")
            }
        }
        #expect(valid > rounds(300, nightly: 10_000) / 4)
    }

    /// Returns whether both are errors, and Foundation's path lacks keys of the other: those of dictionaries and nested
    /// containers. No key of a path contains the text "/".
    private func lacksKeys(_ expected: String, _ actual: String) -> Bool {
        guard expected.hasPrefix("invalid at "), actual.hasPrefix("invalid at ") else { return false }
        var rest = actual.split(separator: "/")[...]
        return expected.split(separator: "/").allSatisfy { key in
            rest = rest.drop { $0 != key }
            return rest.popFirst() != nil
        }
    }

    @Test("Random values are encoded to Foundation's bytes and errors", arguments: seeds)
    func encoding(seed: UInt64) {
        var grammar = JSONPlanGrammar(random: SeededRandom(seed: seed))
        var valid = 0
        for round in 0..<rounds(300, nightly: 10_000) {
            let foundation = JSONEncoder()
            foundation.outputFormatting =
                round % 2 == 0 ? .sortedKeys : [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            if round % 3 == 0 { foundation.keyEncodingStrategy = .convertToSnakeCase }
            let plan = grammar.plan()
            let expected = encodingOutcome { try foundation.encode(plan) }
            let actual = encodingOutcome { try JSON.Encoder(foundation).encode(plan) }
            if !actual.hasPrefix("invalid") { valid += 1 }
            if expected != actual, !lacksKeys(expected, actual) {
                Issue.record("seed \(seed), round \(round), \(plan): \(expected) but \(actual)")
            }
        }
        #expect(valid > rounds(300, nightly: 10_000) / 4)
    }

    @Test("Members that are not sorted have the values of sorted ones, each key once", arguments: seeds)
    func unsorted(seed: UInt64) throws {
        var grammar = JSONPlanGrammar(random: SeededRandom(seed: seed &+ 1_000))
        let sorted = JSON.Encoder { $0.outputFormatting = .sortedKeys }
        for round in 0..<rounds(100, nightly: 2_000) {
            let plan = grammar.plan()
            guard let expected = try? sorted.encode(plan) else { continue }
            let actual = try JSON.Encoder().encode(plan)
            let (left, right) = try (JSON(data: expected), JSON(data: actual, duplicateKeys: .refuse))
            #expect(left == right, "seed \(seed), round \(round)")
        }
    }
}
