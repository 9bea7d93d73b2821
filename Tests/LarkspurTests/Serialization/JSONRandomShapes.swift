import Foundation
import Larkspur

/// A type for decoders that is made up at run time: what a type's `init(from:)` asks its decoder for.
indirect enum JSONShape: Sendable, CustomStringConvertible {
    enum Scalar: String, Sendable, CaseIterable {
        case bool, int, int8, uint8, int16, uint32, uint64, double, float, string, date, data, url, decimal, uuid
        case integers, strings, doubles, bools
    }

    /// A way to ask for a member.
    enum Access: String, Sendable, CaseIterable {
        case decode, ifPresent, ifContained, ifNotNull, nested, superclass
    }

    struct Member: Sendable {
        let name: String
        let access: Access
        let shape: JSONShape
    }

    case scalar(Scalar)
    case optional(JSONShape)
    /// A value by way of a single-value container.
    case single(JSONShape)
    case array(JSONShape)
    /// An array whose elements have shapes of their own. Later elements are not read.
    case tuple([JSONShape])
    /// An object with any keys.
    case dictionary(JSONShape)
    case object([Member])

    /// The shape of the `JSONShaped` that is decoded next.
    @TaskLocal static var next = JSONShape.scalar(.bool)

    var description: String {
        switch self {
        case .scalar(let scalar): scalar.rawValue
        case .optional(let shape): "\(shape)?"
        case .single(let shape): "(\(shape))"
        case .array(let shape): "[\(shape)]"
        case .tuple(let shapes): "\(shapes)"
        case .dictionary(let shape): "[*: \(shape)]"
        case .object(let members):
            "{\(members.map { "\($0.name) \($0.access): \($0.shape)" }.joined(separator: ", "))}"
        }
    }
}

/// A value of the shape `JSONShape.next`, as a text for comparison.
struct JSONShaped: Decodable {
    let text: String

    init(from decoder: any Decoder) throws { text = try Self.text(JSONShape.next, decoder) }

    private static func text(_ shape: JSONShape, _ decoder: any Decoder) throws -> String {
        switch shape {
        case .scalar(let scalar): return try text(scalar, decoder)
        case .optional(let shape):
            return try decoder.singleValueContainer().decodeNil() ? "nil" : text(shape, decoder)
        case .single(let shape):
            let container = try decoder.singleValueContainer()
            return try JSONShape.$next.withValue(shape) { try container.decode(JSONShaped.self).text }
        case .array(let shape):
            var container = try decoder.unkeyedContainer()
            var texts: [String] = []
            while !container.isAtEnd {
                texts.append(try JSONShape.$next.withValue(shape) { try container.decode(JSONShaped.self).text })
            }
            return "\(container.count ?? -1)\(texts)"
        case .tuple(let shapes): return try text(shapes, decoder)
        case .dictionary(let shape):
            let container = try decoder.container(keyedBy: DecodedTypes.FreeKey.self)
            let keys = container.allKeys.sorted { $0.stringValue < $1.stringValue }
            return try keys.map { key in
                try JSONShape.$next.withValue(shape) {
                    "\(key.stringValue):\(try container.decode(JSONShaped.self, forKey: key).text)"
                }
            }.description
        case .object(let members):
            let container = try decoder.container(keyedBy: DecodedTypes.FreeKey.self)
            return try members.map { member in
                try JSONShape.$next.withValue(member.shape) { try text(member, container) }
            }.description
        }
    }

    private static func text(_ shapes: [JSONShape], _ decoder: any Decoder) throws -> String {
        var container = try decoder.unkeyedContainer()
        var texts: [String] = []
        for (index, shape) in shapes.enumerated() {
            try JSONShape.$next.withValue(shape) {
                switch index % 3 {
                case 0: texts.append(try container.decode(JSONShaped.self).text)
                // At the end of an array, Foundation's index counts this question as an element.
                case 1 where container.isAtEnd: texts.append("end")
                case 1: texts.append(try container.decodeIfPresent(JSONShaped.self)?.text ?? "nil")
                default: texts.append(try JSONShaped(from: container.superDecoder()).text)
                }
            }
            texts.append("\(container.currentIndex)")
        }
        return "\(texts)"
    }

    private static func text(
        _ member: JSONShape.Member, _ container: KeyedDecodingContainer<DecodedTypes.FreeKey>
    ) throws -> String {
        let key = DecodedTypes.FreeKey(member.name)
        switch member.access {
        case .decode: return try container.decode(JSONShaped.self, forKey: key).text
        case .ifPresent: return try container.decodeIfPresent(JSONShaped.self, forKey: key)?.text ?? "nil"
        case .ifContained:
            return container.contains(key) ? try container.decode(JSONShaped.self, forKey: key).text : "none"
        case .ifNotNull:
            return try container.decodeNil(forKey: key)
                ? "null" : try container.decode(JSONShaped.self, forKey: key).text
        case .nested:
            let nested = try container.nestedContainer(keyedBy: DecodedTypes.FreeKey.self, forKey: key)
            return try nested.decode(JSONShaped.self, forKey: DecodedTypes.FreeKey("a")).text
        case .superclass: return try JSONShaped(from: container.superDecoder(forKey: key)).text
        }
    }

    private static func text(_ scalar: JSONShape.Scalar, _ decoder: any Decoder) throws -> String {
        let container = try decoder.singleValueContainer()
        return switch scalar {
        case .bool: "\(try container.decode(Bool.self))"
        case .int: "\(try container.decode(Int.self))"
        case .int8: "\(try container.decode(Int8.self))"
        case .uint8: "\(try container.decode(UInt8.self))"
        case .int16: "\(try container.decode(Int16.self))"
        case .uint32: "\(try container.decode(UInt32.self))"
        case .uint64: "\(try container.decode(UInt64.self))"
        case .double: "\(try container.decode(Double.self))"
        case .float: "\(try container.decode(Float.self))"
        case .string: "\(Array(try container.decode(String.self).unicodeScalars))"
        case .date: "\(try container.decode(Date.self).timeIntervalSinceReferenceDate)"
        case .data: try container.decode(Data.self).base64EncodedString()
        case .url: "\(try container.decode(URL.self))"
        case .decimal: "\(try container.decode(Decimal.self))"
        case .uuid: "\(try container.decode(UUID.self))"
        case .integers: "\(try container.decode([Int].self))"
        case .strings: "\(try container.decode([String].self))"
        case .doubles: "\(try container.decode([Double].self))"
        case .bools: "\(try container.decode([Bool].self))"
        }
    }
}

/// Random shapes, and documents that match them, nearly match them, or are not JSON.
struct JSONShapeGrammar {
    var random: SeededRandom
    private static let names = ["a", "b", "c", "a_b", "id", "longer key", "é", "\"quoted\"", "", "z/y"]

    mutating func shape(depth: Int = 3) -> JSONShape {
        switch Int.random(in: 0..<(depth > 0 ? 11 : 3), using: &random) {
        case 0...2: return .scalar(JSONShape.Scalar.allCases.randomElement(using: &random) ?? .int)
        case 3: return .optional(shape(depth: depth - 1))
        case 4: return .single(shape(depth: depth - 1))
        case 5, 6: return .array(shape(depth: depth - 1))
        case 7: return .tuple((0..<3).map { _ in shape(depth: depth - 1) })
        case 8: return .dictionary(shape(depth: depth - 1))
        default:
            let names = Self.names.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random))
            return .object(
                names.map { name in
                    let access = JSONShape.Access.allCases.randomElement(using: &random) ?? .decode
                    return .init(name: name, access: access, shape: shape(depth: depth - 1))
                })
        }
    }

    /// Returns a document for a shape. One value in twenty is of another shape, and one document in eight is damaged.
    mutating func document(_ shape: JSONShape) -> String {
        var text = random.once(in: 6) ? " \(value(shape))\n" : value(shape)
        guard random.once(in: 8) else { return text }
        var bytes = Array(text.utf8)
        let place = Int.random(in: 0...bytes.count, using: &random)
        let byte = "{}[],:\"\\ 0-eu1tn\n\u{1}".utf8.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes.insert(byte, at: place)
        case 1: bytes.removeSubrange(place...)
        default: if place < bytes.count { bytes[place] = byte }
        }
        text = String(decoding: bytes, as: UTF8.self)
        return text
    }

    private mutating func value(_ shape: JSONShape) -> String {
        if random.once(in: 20) { return random.once(in: 2) ? "null" : value(self.shape(depth: 1)) }
        switch shape {
        case .scalar(let scalar): return value(scalar)
        case .optional(let shape): return random.once(in: 3) ? "null" : value(shape)
        case .single(let shape): return value(shape)
        case .array(let shape): return list((0..<Int.random(in: 0...4, using: &random)).map { _ in value(shape) })
        case .tuple(let shapes):
            let extra = random.once(in: 8) ? -1 : Int.random(in: 0...1, using: &random)
            return list(shapes.prefix(shapes.count + min(extra, 0)).map { value($0) } + (extra > 0 ? ["[{}]"] : []))
        case .dictionary(let shape):
            let names = Self.names.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
            return object(names.map { ($0, value(shape)) })
        case .object(let shapes):
            var members: [(String, String)] = []
            for member in shapes where !random.once(in: 15) {
                let isNull = member.access == .ifPresent || member.access == .ifNotNull || member.access == .superclass
                let value = isNull && random.once(in: 4) ? "null" : self.value(member.shape)
                members.append((member.name, member.access == .nested ? object([("a", value)]) : value))
            }
            if random.once(in: 4) { members.append(("unread", "[1,{\"a\":\"x\"}]")) }
            return object(random.once(in: 3) ? members.shuffled(using: &random) : members)
        }
    }

    private func list(_ texts: [String]) -> String { "[\(texts.joined(separator: ","))]" }

    private mutating func object(_ members: [(String, String)]) -> String {
        "{\(members.map { "\(quoted($0)):\(random.once(in: 2) ? " " : "")\($1)" }.joined(separator: ", "))}"
    }

    /// Returns a string in JSON, sometimes with an escape in place of its first letter.
    private mutating func quoted(_ text: String) -> String {
        var result = text.replacingOccurrences(of: "\"", with: "\\\"")
        if random.once(in: 8), let first = result.utf8.first, first != 0x5C, first < 0x80 {
            result = "\\u00\(String(first, radix: 16))" + result.dropFirst()
        }
        return "\"\(result)\""
    }

    private mutating func value(_ scalar: JSONShape.Scalar) -> String {
        switch scalar {
        case .bool: return pick(["true", "false"])
        case .int8, .uint8: return "\(Int.random(in: -20...140, using: &random))"
        case .int, .int16, .uint32, .uint64: return integer()
        case .double, .float, .decimal, .date: return number()
        case .string: return string()
        case .data: return pick(["\"AQID\"", "\"\"", "\"AQ==\"", "\"A\""])
        case .url: return pick(["\"http://a.example/b?c=d\"", "\"x\"", "\"a b\"", "\"\""])
        case .uuid: return pick(["\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"", "\"E621\""])
        case .integers: return list((0..<3).map { _ in random.once(in: 20) ? "1.5" : integer() })
        case .strings: return list((0..<3).map { _ in random.once(in: 20) ? "1" : string() })
        case .doubles: return list((0..<3).map { _ in random.once(in: 20) ? "null" : number() })
        case .bools: return list((0..<3).map { _ in pick(["true", "false", "true", "null"]) })
        }
    }

    private mutating func integer() -> String {
        let usual = "\(Int.random(in: -5...300, using: &random))"
        return pick([
            usual, usual, usual, "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e3", "12.0",
            "4294967296", "32768", "-0", "1.5",
        ])
    }

    private mutating func number() -> String {
        let digits = (0..<Int.random(in: 1...20, using: &random)).map { _ in
            "\(Int.random(in: 0...9, using: &random))"
        }
        let exponent = random.once(in: 3) ? "e\(Int.random(in: -20...20, using: &random))" : ""
        let fraction = random.once(in: 4) ? "" : ".\(digits.joined())"
        return "\(random.once(in: 3) ? "-" : "")\(Int.random(in: 0...900, using: &random))\(fraction)\(exponent)"
    }

    private mutating func string() -> String {
        pick([
            "\"\"", "\"plain\"", "\"a string that is longer than fifteen bytes\"", "\"é😀\"", "\"\\n\\u00e9\\/\"",
            "\"\\ud83d\\ude00 and more of it\"", "\"e\u{301}\"",
        ])
    }

    private mutating func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
}
