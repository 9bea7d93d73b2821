import Foundation

extension JSON: Codable {
    /// How far arrays and objects may contain one another. Coders recurse, and take five kilobytes of stack for a level.
    private static let maximumCodingDepth = 64

    /// Takes the value from any decoder, as exactly as that decoder has numbers: Foundation's have `Double` at most.
    ///
    /// Parse the bytes with ``init(data:maximumDepth:duplicateKeys:)`` instead where every digit counts, where the order of
    /// members does, or for more than 64 levels, which are refused here.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Decoders tell kinds apart only by refusing the wrong one. The exact kinds of number come first.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self.init(value)
        } else if let value = try? container.decode(UInt64.self) {
            self.init(value)
        } else if let value = try? container.decode(Double.self) {
            self.init(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if decoder.codingPath.count > Self.maximumCodingDepth {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.tooDeep)
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try container.decode([JSON].self))
        } else {
            self = .object(Object(try container.decode([String: JSON].self).map { ($0.key, $0.value) }))
        }
    }

    /// Gives the value to any encoder; a number that needs more than 64 bits is given as the nearest `Double`.
    ///
    /// Write it with ``data(_:)`` instead where every digit counts, where the order of members does, or for more than 64
    /// levels, which are refused here.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let number):
            if let value = number.integer(as: Int64.self) {
                try container.encode(value)
            } else if let value = number.integer(as: UInt64.self) {
                try container.encode(value)
            } else if let value = number.double {
                try container.encode(value)
            } else {
                throw refusal(encoder, "The number is too large for this encoder; write the value with data() instead.")
            }
        case .string(let value): try container.encode(value)
        case .array, .object:
            guard encoder.codingPath.count <= Self.maximumCodingDepth else { throw refusal(encoder, Self.tooDeep) }
            if let array { try container.encode(array) } else { try container.encode(object) }
        }
    }

    private static let tooDeep = "The JSON is too deep for coders; parse it with init(data:) and write it with data()."

    private func refusal(_ encoder: any Encoder, _ advice: String) -> EncodingError {
        .invalidValue(self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: advice))
    }

    /// Makes a typed value of this one, or of a part of it: `try reply["user"].decode(User.self)`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: data())
    }
}
