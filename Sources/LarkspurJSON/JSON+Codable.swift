extension JSON: Codable {
    /// The maximum nesting of values that any `Encoder` or `Decoder` reads or writes. Encoders and decoders recurse,
    /// and need about five kilobytes of stack per level.
    private static let maximumCodingDepth = 64
    private static let tooDeep = "The JSON is too deep for coders; parse it with init(data:) and write it with data()."

    /// Decodes a value with any decoder. Arrays and objects may be nested up to 64 levels deep.
    ///
    /// A decoder may lose the order of members and digits of numbers. Use ``init(data:duplicateKeys:)`` and
    /// ``data(_:)`` to keep both.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A decoder does not tell the type of the next value, so each type is tried until the decoder accepts it. The
        // integer types come before `Double`, because they are exact.
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

    /// Encodes the value with any encoder. Arrays and objects may be nested up to 64 levels deep. A number that fits no
    /// 64-bit integer is encoded as a `Double`. The form encoder of this library keeps all digits and the order of
    /// members.
    public func encode(to encoder: any Swift.Encoder) throws {
        if let encoder = encoder as? any LosslessJSONEncoder { return try encoder.encode(self) }
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let number):
            if let value = number.integer(as: Int64.self) { return try container.encode(value) }
            if let value = number.integer(as: UInt64.self) { return try container.encode(value) }
            // A number beyond the range of `Double` is encoded as infinity. Most encoders reject infinity, and the
            // others have a strategy for it.
            try container.encode(number.double ?? .infinity)
        case .array where encoder.codingPath.count > Self.maximumCodingDepth,
            .object where encoder.codingPath.count > Self.maximumCodingDepth:
            let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: Self.tooDeep)
            throw EncodingError.invalidValue(self, context)
        case .array(let elements): try container.encode(elements)
        case .object(let members):
            try container.encode(Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) }))
        }
    }
}

/// An encoder that keeps all digits of JSON numbers and the order of members, which Codable loses.
package protocol LosslessJSONEncoder: Swift.Encoder {
    func encode(_ json: JSON) throws
}
