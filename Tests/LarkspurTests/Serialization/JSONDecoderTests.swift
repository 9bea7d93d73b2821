import Foundation
import Larkspur
import TestSupport
import Testing

/// A comparison of `JSON.Decoder` with `JSONDecoder`.
struct JSONComparison {
    let foundation: JSONDecoder
    private(set) var count = 0
    private(set) var differences: [String] = []

    init(_ foundation: JSONDecoder) { self.foundation = foundation }

    /// Returns the kind of an error, its coding path and its type.
    static func summary(of error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map { "/" + $0.stringValue }.joined()
        }
        return switch error as? DecodingError {
        case .dataCorrupted(let context): "dataCorrupted at \(path(context))"
        case .keyNotFound(let key, let context): "keyNotFound \(key.stringValue) at \(path(context))"
        case .typeMismatch(let type, let context): "typeMismatch \(type) at \(path(context))"
        case .valueNotFound(let type, let context): "valueNotFound \(type) at \(path(context))"
        default: "\(error)"
        }
    }

    static func outcome<Value: Decodable>(_ type: Value.Type, _ decoder: any DataDecoder, _ data: Data) -> String {
        do {
            let value = try decoder.decode(type, from: data)
            if let data = value as? Data { return data.base64EncodedString() }
            if let set = value as? Set<Int> { return "\(set.sorted())" }
            if let known = value as? DecodedTypes.Known { return "\(known)" }
            var text = ""
            dump(value, to: &text)
            return text
        } catch {
            return summary(of: error)
        }
    }

    /// Decodes the texts with both decoders. A text that is not JSON must fail at the root.
    mutating func compare<Value: Decodable>(_ type: Value.Type, _ texts: [String]) {
        let larkspur = JSON.Decoder(foundation)
        for text in texts {
            let data = Data(text.utf8)
            let expected = Self.outcome(type, foundation, data)
            let actual = Self.outcome(type, larkspur, data)
            count += 1
            // A difference of the table: Foundation's errors about numbers and dates have no path.
            if expected == "dataCorrupted at ", actual.hasPrefix("dataCorrupted at /") { continue }
            // Another one: Foundation rounds numbers that are nearly whole.
            if actual.hasPrefix("dataCorrupted at "), text.contains(/[0-9.]{17}/), (try? JSON(text: text)) != nil {
                continue
            }
            if expected != actual { differences.append("\(type) \(text): \(expected) but \(actual)") }
        }
    }

    mutating func compareAll(_ texts: [String]) {
        compareScalars(texts)
        compareCollections(texts)
        compareTypes(texts)
    }

    private mutating func compareScalars(_ texts: [String]) {
        compare(Int.self, texts)
        compare(Int8.self, texts)
        compare(Int16.self, texts)
        compare(Int32.self, texts)
        compare(Int64.self, texts)
        compare(UInt.self, texts)
        compare(UInt8.self, texts)
        compare(UInt16.self, texts)
        compare(UInt32.self, texts)
        compare(UInt64.self, texts)
        compare(Double.self, texts)
        compare(Float.self, texts)
        compare(Bool.self, texts)
        compare(String.self, texts)
        compare(Decimal.self, texts)
        compare(Date.self, texts)
        compare(Data.self, texts)
        compare(URL.self, texts)
        compare(UUID.self, texts)
        compare(Int?.self, texts)
        compare(String?.self, texts)
        compare(Date?.self, texts)
    }

    private mutating func compareCollections(_ texts: [String]) {
        // Foundation decodes the members of a dictionary in any order, so several faults have several outcomes.
        compare([Int].self, texts)
        compare([Int?].self, texts)
        compare([Int8].self, texts)
        compare([String].self, texts)
        compare([Double].self, texts)
        compare([Bool].self, texts)
        compare([Date].self, texts)
        compare([[Int]].self, texts)
        compare(Set<Int>.self, texts)
        compare([String: Int].self, texts.filter { !$0.contains(",") })
        compare([String: Bool].self, texts.filter { !$0.contains(",") })
        compare([Int: Int].self, texts.filter { !$0.contains(",") })
        compare([String: [String: Int]].self, texts.filter { !$0.contains(",") })
        compare([DecodedTypes.TextKey: Int].self, texts.filter { !$0.contains(",") })
        compare([DecodedTypes.NameKey: Int].self, texts.filter { !$0.contains(",") })
        compare([String: DecodedTypes.Cased].self, texts.filter { !$0.contains(",") })
        compare([DecodedTypes.Plain].self, texts)
        compare([DecodedTypes.Name].self, texts)
        compare([DecodedTypes.Cased].self, texts)
    }

    private mutating func compareTypes(_ texts: [String]) {
        compare(DecodedTypes.Plain.self, texts)
        compare(DecodedTypes.Options.self, texts)
        compare(DecodedTypes.Cased.self, texts)
        compare(DecodedTypes.Known.self, texts)
        compare(DecodedTypes.Required.self, texts)
        compare(DecodedTypes.Name.self, texts)
        compare(DecodedTypes.Level.self, texts)
        compare(DecodedTypes.Payload.self, texts)
        compare(DecodedTypes.Link.self, texts)
        compare(DecodedTypes.Derived.self, texts)
        compare(DecodedTypes.NamedBase.self, texts)
        compare(DecodedTypes.ListedBase.self, texts)
        compare(DecodedTypes.Nested.self, texts)
        compare(DecodedTypes.Steps.self, texts)
        compare(DecodedTypes.Members.self, texts)
        compare(DecodedTypes.Wrapper.self, texts)
        compare(DecodedTypes.Lossy.self, texts)
        compare(DecodedTypes.Single<Int>.self, texts)
        compare([DecodedTypes.Single<String>].self, texts)
        compare(DecodedTypes.Single<[DecodedTypes.Single<Int>]>.self, texts)
    }
}

@Suite("JSON.Decoder beside JSONDecoder", .limited)
struct JSONDecoderTests {
    private static let options: [@Sendable (JSONDecoder) -> Void] = [
        { _ in },
        {
            $0.keyDecodingStrategy = .convertFromSnakeCase
            $0.dateDecodingStrategy = .iso8601
            $0.dataDecodingStrategy = .deferredToData
            $0.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        },
        {
            $0.keyDecodingStrategy = .custom { DecodedTypes.FreeKey($0.map(\.stringValue).joined().lowercased()) }
            $0.dateDecodingStrategy = .secondsSince1970
            $0.dataDecodingStrategy = .custom { Data(try $0.singleValueContainer().decode(String.self).utf8) }
        },
        { $0.dateDecodingStrategy = .millisecondsSince1970 },
        {
            $0.dateDecodingStrategy = .custom {
                Date(timeIntervalSince1970: try $0.singleValueContainer().decode(Double.self) + 1)
            }
        },
        {
            let formatter = DateFormatter()
            formatter.dateFormat = "yyyy-MM-dd"
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            $0.dateDecodingStrategy = .formatted(formatter)
        },
    ]

    @Test("Values and errors equal Foundation's for all types, texts and options", arguments: options.indices)
    func sameOutcomes(index: Int) {
        let decoder = JSONDecoder()
        Self.options[index](decoder)
        var comparison = JSONComparison(decoder)
        comparison.compareAll(DecodedTexts.all)
        #expect(comparison.differences == [])
        #expect(comparison.count > 8_000)
    }

    @Test("Random documents have Foundation's values and errors", arguments: 0..<4)
    func randomDocuments(seed: UInt64) {
        var generator = JSONGrammar(random: SeededRandom(seed: seed &+ 77))
        let texts = (0..<rounds(15, nightly: 420)).map { _ in generator.text() }
        for option in Self.options.prefix(2) {
            let decoder = JSONDecoder()
            option(decoder)
            var comparison = JSONComparison(decoder)
            comparison.compareAll(texts)
            #expect(comparison.differences == [])
        }
    }

    @Test("An object that was decoded as a dictionary, or tried, is another type's afterwards", arguments: 0..<3)
    func dictionaryFirst(index: Int) {
        let decoder = JSONDecoder()
        Self.options[index](decoder)
        var comparison = JSONComparison(decoder)
        let texts = [
            #"{"a_b": 1}"#, #"{"aB": 1}"#, #"{"a_b": "s"}"#, #"{"a_b": {"a_b": 1}}"#, #"{"a_b": {"a_b": "s"}}"#, "[1]",
            #"{"x_y": {"a_b": 1}}"#,
        ]
        comparison.compare(DecodedTypes.Tried.self, texts)
        comparison.compare([DecodedTypes.Tried].self, texts.map { "[\($0), \($0)]" })
        comparison.compare([String: DecodedTypes.Tried].self, texts.map { "{\"a_b\": \($0)}" })
        #expect(comparison.differences == [])
        #expect(comparison.count == 21)
    }

    /// A row of the table in the guide "Decoding JSON".
    struct Difference: Sendable, CustomTestStringConvertible {
        let name, text: String
        let foundation, larkspur: String
        let outcome: @Sendable (any DataDecoder, Data) -> String
        var testDescription: String { name }

        init<Value: Decodable & Sendable>(
            _ name: String, _ type: Value.Type, _ text: String, _ foundation: String, _ larkspur: String
        ) {
            (self.name, self.text, self.foundation, self.larkspur) = (name, text, foundation, larkspur)
            outcome = { decoder, data in
                do { return "\(try decoder.decode(type, from: data))" } catch {
                    return JSONComparison.summary(of: error)
                }
            }
        }
    }

    private static let differences = [
        Difference(
            "The last of duplicate keys counts", [String: Int].self, #"{"a":1,"a":2}"#, "[\"a\": 1]", "[\"a\": 2]"),
        Difference(
            "Each text must be JSON as a whole", Bool.self, #"[1,]"#, "typeMismatch Bool at ", "dataCorrupted at "),
        Difference("Trailing commas are an error", [Int].self, "[1,]", "[1]", "dataCorrupted at "),
        Difference("Numbers near zero are zero", Double.self, "1e-400", "dataCorrupted at ", "0.0"),
        Difference("Numbers near zero are zero", Float.self, "1e-300", "dataCorrupted at ", "0.0"),
        Difference(
            "Whole numbers are exact", UInt64.self, "18446744073709551615.0", "dataCorrupted at ",
            "18446744073709551615"),
        Difference(
            "Whole numbers are exact", Int.self, "9007199254740992.5", "9007199254740992", "dataCorrupted at "),
        Difference(
            "Whole numbers are exact", Int.self, "4503599627370496.5", "4503599627370496", "dataCorrupted at "),
        Difference(
            "Whole numbers are exact", UInt8.self, "0.99999999999999999999", "1", "dataCorrupted at "),
        Difference(
            "Whole numbers are exact", Int64.self, "9.223372036854775807e18", "dataCorrupted at ",
            "9223372036854775807"),
        Difference(
            "Whole numbers are exact", Int64.self, "-9.223372036854775808e18", "dataCorrupted at ",
            "-9223372036854775808"),
        Difference(
            "The last of keys that are equal as strings counts", [String: Int].self, "{\"\u{e9}\":1,\"e\u{301}\":2}",
            "[\"é\": 1]", "[\"é\": 2]"),
        Difference(
            "Errors about numbers have a path", [Int].self, "[1.5]", "dataCorrupted at ", "dataCorrupted at /Index 0"),
        Difference(
            "Errors inside are those outside", DecodedTypes.Catching.self, "[1.5]", "another error",
            "dataCorrupted at /Index 0"),
        Difference(
            "The nesting is limited to 128", DecodedTypes.Deep.self,
            String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
            "Deep()", "dataCorrupted at "),
    ]

    @Test("The differences from Foundation are those of the guide", arguments: differences)
    func knownDifferences(difference: Difference) {
        let data = Data(difference.text.utf8)
        #expect(difference.outcome(JSONDecoder(), data) == difference.foundation)
        #expect(difference.outcome(JSON.Decoder(), data) == difference.larkspur)
    }

    @Test("UTF-16 is an error, unlike in Foundation")
    func otherEncodings() throws {
        let data = try #require("[1]".data(using: .utf16))
        #expect(try JSONDecoder().decode([Int].self, from: data) == [1])
        #expect(throws: DecodingError.self) { try JSON.Decoder().decode([Int].self, from: data) }
    }
}

extension DecodedTypes {
    /// A type that decodes an object as several types, one after the other.
    struct Tried: Decodable, Sendable {
        struct Member: Decodable, Sendable {
            let aB: Int
        }

        struct Optional: Decodable, Sendable {
            let aB: Member?
        }

        let numbers: [String: Int]?
        let member: Member?
        let members: [String: Member]?
        let optional: Optional

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            numbers = try? value.decode([String: Int].self)
            member = try? value.decode(Member.self)
            members = try? value.decode([String: Member].self)
            optional = try value.decode(Optional.self)
        }
    }

    /// A type that catches the error of its first element.
    struct Catching: Decodable, Sendable, CustomStringConvertible {
        let description: String

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            do { description = "\(try container.decode(Int.self))" } catch {
                description = error is DecodingError ? JSONComparison.summary(of: error) : "another error"
            }
        }
    }

    /// A type that accepts any value.
    struct Deep: Decodable, Sendable { init(from decoder: any Decoder) throws {} }
}

/// Random documents whose keys and values the compared types know.
private struct JSONGrammar {
    var random: SeededRandom

    mutating func text(depth: Int = 3) -> String {
        let value = value(depth: depth)
        return random.once(in: 4) ? " \(value)\n" : value
    }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 5), using: &random) {
        case 0: return pick(["null", "true", "false"])
        case 1: return "\(Int.random(in: -300...300, using: &random))"
        case 2: return number()
        case 3, 4: return pick(["\"a\"", "\"b\"", "\"1\"", "\"\\u0061\"", "\"é\"", "\"\"", "\"2020-01-01T00:00:00Z\""])
        case 5, 6:
            let elements = (0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth - 1) }
            return "[\(elements.joined(separator: ","))]"
        default:
            // No key occurs twice, because decoders differ there.
            let names = ["a", "b", "a_b", "x", "y", "value", "next", "base", "super", "outer", "inner", "one", "_0"]
            let keys = names.shuffled(using: &random).prefix(random.once(in: 2) ? 1 : 4)
            return "{\(keys.map { "\"\($0)\": \(value(depth: depth - 1))" }.joined(separator: ","))}"
        }
    }

    private mutating func number() -> String {
        let digits = (0..<Int.random(in: 1...24, using: &random)).map { _ in
            "\(Int.random(in: 0...9, using: &random))"
        }
        let exponent = random.once(in: 2) ? "e\(Int.random(in: -30...30, using: &random))" : ""
        return "\(Int.random(in: 1...9, using: &random)).\(digits.joined())\(exponent)"
    }

    private mutating func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
}
