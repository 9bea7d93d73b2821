import Foundation
import Larkspur
import TestSupport
import Testing

/// The encoder writes JSON values directly. All other values become a tree first, also a value that encodes JSON.
@Suite("Forms of JSON values", .limited)
struct FormOfJSONTests {
    /// A value whose encoding is that of a JSON value, and which the encoder does not know.
    private struct Unknown: Encodable {
        let json: JSON

        func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
    }

    private static let encoders: [URLEncodedFormEncoder] = [
        URLEncodedFormEncoder(), .webForm, URLEncodedFormEncoder(alphabetizeKeyValuePairs: true),
        URLEncodedFormEncoder(arrayEncoding: .noBrackets, boolEncoding: .literal, nilEncoding: .null),
        URLEncodedFormEncoder(
            arrayEncoding: .indexInBrackets, keyEncoding: .convertToSnakeCase, nilEncoding: .dropValue),
        URLEncodedFormEncoder(
            alphabetizeKeyValuePairs: true, arrayEncoding: .custom { "\($0).\($1)" }, keyEncoding: .uppercased,
            keyPathEncoding: .dots, nilEncoding: .custom { "-" }),
        URLEncodedFormEncoder(
            keyEncoding: .custom { "<\($0)>" }, keyPathEncoding: .custom { "->\($0)" }, nilEncoding: .custom { nil },
            allowedCharacters: .query.adding("[]<>")),
    ]

    private func random(_ depth: Int, _ generator: inout SystemRandomNumberGenerator) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return nil
        case 1: return .bool(.random(using: &generator))
        case 2: return JSON(Int64.random(in: .min ... .max, using: &generator))
        case 3: return JSON(Double.random(in: -1...1, using: &generator))
        case 4, 5: return .string(["", "a b", "ä&=+%", "x[]", "\u{0}"].randomElement(using: &generator) ?? "")
        case 6:
            var elements: [JSON] = []
            for _ in 0..<Int.random(in: 0..<4, using: &generator) { elements.append(random(depth - 1, &generator)) }
            return .array(elements)
        default: return members(depth - 1, &generator)
        }
    }

    private func members(_ depth: Int, _ generator: inout SystemRandomNumberGenerator) -> JSON {
        var members: [(String, JSON)] = []
        for key in ["oneTwo", "b", "a", "ID", "a b", "é"].shuffled(using: &generator).prefix(4) {
            members.append((key, random(depth, &generator)))
        }
        return .object(JSON.Object(members))
    }

    @Test("A JSON object has the same form as a value that encodes it", arguments: encoders.indices)
    func same(index: Int) throws {
        let encoder = Self.encoders[index]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let json = members(3, &generator)
            let form: String = try encoder.encode(json)
            let expected: String = try encoder.encode(Unknown(json: json))
            #expect(form == expected, "\(json)")
        }
    }

    @Test("The order of members and all digits are kept, and the query has the same pairs as the body")
    func written() throws {
        let json: JSON = ["z": 1, "a": ["x": ["b": true, "a": nil], "y": [1, [2, "ä"]]], "n": 12.5]
        let form: String = try URLEncodedFormEncoder(allowedCharacters: .unreserved.adding("[]")).encode(json)
        #expect(form == "z=1&a[x][b]=1&a[y][]=1&a[y][][]=2&a[y][][]=%C3%A4&n=12.5")
        #expect(try URLEncodedFormEncoder().encode([:] as JSON) as String == "")
        for value in [[1], 1, "text", true] as [JSON] {
            #expect(throws: RequestError.self) { try URLEncodedFormEncoder().encode(value) as String }
        }
    }

    @Test("Nesting is limited as for other values", arguments: [false, true])
    func depth(isArray: Bool) throws {
        var json: JSON = 1
        for _ in 1..<URLEncodedFormEncoder.maximumDepth { json = isArray ? [json] : ["a": json] }
        let deepest: JSON = ["a": json]
        #expect(
            try URLEncodedFormEncoder().encode(deepest) as String
                == URLEncodedFormEncoder().encode(Unknown(json: deepest)))
        let tooDeep: JSON = ["a": isArray ? [json] : ["a": json]]
        for encode in [
            { try URLEncodedFormEncoder().encode(tooDeep) },
            { try URLEncodedFormEncoder().encode(Unknown(json: tooDeep)) },
        ] as [() throws -> String] {
            let error = #expect(throws: RequestError.self) { try encode() }
            #expect(error?.message.contains("nested deeper than 64 levels") == true)
        }
    }
}
