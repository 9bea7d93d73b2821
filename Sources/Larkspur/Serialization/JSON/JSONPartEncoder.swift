/// The encoder of one value, which is also its own single-value container.
struct JSONPartEncoder: Swift.Encoder, SingleValueEncodingContainer {
    let encoding: JSONEncoding
    let path: JSONPath?
    let slot: JSONSlot
    /// Whether the value is a dictionary with strings as keys. Those are data, and are not converted.
    var keepsKeys = false

    var codingPath: [any CodingKey] { JSONPath.keys(path) }
    var userInfo: [CodingUserInfoKey: Any] { encoding.options.userInfo }

    /// Returns the contents of this value, to be continued if the value has asked for them before.
    private func contents(isObject: Bool) -> JSONContents {
        if case .contents(let contents)? = slot.part, contents.isObject == isObject { return contents }
        let contents = JSONContents(isObject: isObject)
        slot.part = .contents(contents)
        return contents
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(
            JSONKeyedEncoder(encoding: encoding, path: path, contents: contents(isObject: true), keepsKeys: keepsKeys))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONUnkeyedEncoder(encoding: encoding, path: path, contents: contents(isObject: false))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws { slot.part = .word("null") }
    func encode<T: Encodable>(_ value: T) throws { slot.part = try Self.part(of: value, encoding, path) ?? .empty }

    /// Returns the value as a part; nil if the value encodes nothing.
    static func part<Value: Encodable>(
        of value: Value, _ encoding: JSONEncoding, _ path: JSONPath?
    ) throws -> JSONPart? {
        let type = Value.self
        if type == String.self, let value = value as? String { return .string(value) }
        if type == Int.self, let value = value as? Int { return .word(value.description) }
        if type == Double.self, let value = value as? Double { return try number(value, encoding, path) }
        if type == Float.self, let value = value as? Float { return try number(value, encoding, path) }
        if type == Bool.self, let value = value as? Bool { return .word(value ? "true" : "false") }
        if type == Date.self, let value = value as? Date { return try date(value, encoding, path) }
        if type == Data.self, let value = value as? Data { return try data(value, encoding, path) }
        if type == URL.self, let value = value as? URL { return .string(value.absoluteString) }
        if type == Decimal.self, let value = value as? Decimal { return .word(value.description) }
        if type == JSON.self, let value = value as? JSON { return .json(value) }
        let keepsKeys = encoding.convertsKeys && type is any JSONStringKeys.Type
        return try part(path: path, encoding, keepsKeys: keepsKeys) { try value.encode(to: $0) }
    }

    private static func part(
        path: JSONPath?, _ encoding: JSONEncoding, keepsKeys: Bool = false, _ encode: (any Swift.Encoder) throws -> Void
    ) rethrows -> JSONPart? {
        let slot = JSONSlot()
        try encode(JSONPartEncoder(encoding: encoding, path: path, slot: slot, keepsKeys: keepsKeys))
        return slot.part
    }

    static func number<Value: BinaryFloatingPoint & CustomStringConvertible & Sendable>(
        _ value: Value, _ encoding: JSONEncoding, _ path: JSONPath?
    ) throws -> JSONPart {
        if value.isFinite {
            let text = value.description
            return .word(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
        }
        let strategy = encoding.options.nonConformingFloatEncodingStrategy
        guard case .convertToString(let positive, let negative, let nan) = strategy else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: JSONPath.keys(path), debugDescription: "JSON cannot represent \(value)"))
        }
        return .string(value.isNaN ? nan : value > 0 ? positive : negative)
    }

    private static func date(_ date: Date, _ encoding: JSONEncoding, _ path: JSONPath?) throws -> JSONPart {
        switch encoding.options.dateEncodingStrategy {
        case .deferredToDate: return try number(date.timeIntervalSinceReferenceDate, encoding, path)
        case .secondsSince1970: return try number(date.timeIntervalSince1970, encoding, path)
        case .millisecondsSince1970: return try number(1_000 * date.timeIntervalSince1970, encoding, path)
        case .iso8601: return .string(date.formatted(.iso8601))
        case .custom(let encode): return try part(path: path, encoding) { try encode(date, $0) } ?? .empty
        #if canImport(Darwin)
            default:
                // Foundation on Apple's platforms has further strategies, such as `.formatted`.
                let encoder = JSONEncoder()
                encoder.dateEncodingStrategy = encoding.options.dateEncodingStrategy
                return .string(try JSONDecoder().decode([String].self, from: encoder.encode([date])).first ?? "")
        #else
            @unknown default: return try part(path: path, encoding) { try date.encode(to: $0) } ?? .empty
        #endif
        }
    }

    private static func data(_ data: Data, _ encoding: JSONEncoding, _ path: JSONPath?) throws -> JSONPart {
        switch encoding.options.dataEncodingStrategy {
        case .base64: return .string(data.base64EncodedString())
        case .custom(let encode): return try part(path: path, encoding) { try encode(data, $0) } ?? .empty
        case .deferredToData: return try part(path: path, encoding) { try data.encode(to: $0) } ?? .empty
        @unknown default: return try part(path: path, encoding) { try data.encode(to: $0) } ?? .empty
        }
    }
}

/// A dictionary with strings as keys.
private protocol JSONStringKeys {}
extension Dictionary: JSONStringKeys where Key == String, Value: Encodable {}

extension JSONPart {
    /// The part of a value that encodes nothing.
    static var empty: JSONPart { .contents(JSONContents(isObject: true)) }
}
