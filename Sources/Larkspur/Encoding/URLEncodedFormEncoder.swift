/// Encodes a keyed value as `key=value&…`: nested keys as `outer[inner]`, array elements as `key[]`, in the order of
/// encoding (those of a dictionary, which has no order, sorted); Bools as 1 and 0, data as Base64, dates as seconds since 1970. Nil leaves its key out.
public struct URLEncodedFormEncoder: Sendable {
    public init() {}

    public func encode(_ value: some Encodable) throws -> String {
        let form = Form()
        do {
            try form.encode(value, at: [])
        } catch let error as RequestError {
            throw error
        } catch {
            throw RequestError(.encodingFailed, "the parameters make no form: \(error)", underlying: error)
        }
        return form.pairs.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }.joined(separator: "&")
    }

    /// Only what RFC 3986 calls unreserved stays as it is: everything else could mean something in a query.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += byte < 16 ? "%0" : "%"
                result += String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }
}

/// The pairs of one encoding; used by one thread.
private final class Form {
    var pairs: [(key: String, value: String)] = []

    func encode(_ value: some Encodable, at path: [any CodingKey]) throws {
        let start = pairs.count
        try value.encode(to: FormEncoder(form: self, path: path))
        guard Mirror(reflecting: value).displayStyle == .dictionary else { return }
        pairs.replaceSubrange(start..., with: pairs[start...].sorted { $0.key < $1.key })
    }

    func add(_ value: String, at path: [any CodingKey]) throws {
        guard let first = path.first, first.intValue == nil || !(first is ElementKey) else {
            throw RequestError(.encodingFailed, "a form needs keys: the parameters' outermost value must be keyed")
        }
        let key = path.dropFirst().reduce(first.stringValue) { $0 + ($1 is ElementKey ? "[]" : "[\($1.stringValue)]") }
        pairs.append((key, value))
    }
}

private struct ElementKey: CodingKey {
    let intValue: Int?
    var stringValue: String { "" }
    init(_ index: Int) { intValue = index }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }
}

private struct FormEncoder: Encoder {
    let form: Form
    let path: [any CodingKey]

    var codingPath: [any CodingKey] { path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedFormContainer(form: form, path: path))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedFormContainer(form: form, path: path) }
    func singleValueContainer() -> any SingleValueEncodingContainer { SingleFormContainer(form: form, path: path) }
}

private struct SingleFormContainer: SingleValueEncodingContainer {
    let form: Form
    let path: [any CodingKey]

    var codingPath: [any CodingKey] { path }

    func encodeNil() {}

    func encode<Value: Encodable>(_ value: Value) throws {
        switch value {
        case let value as Bool: try form.add(value ? "1" : "0", at: path)
        case let value as Data: try form.add(value.base64EncodedString(), at: path)
        case let value as Date: try form.add("\(value.timeIntervalSince1970)", at: path)
        case let value as URL: try form.add(value.absoluteString, at: path)
        case let value as Decimal: try form.add("\(value)", at: path)
        case let value as any LosslessStringConvertible & Encodable where Self.isPlain(value):
            try form.add(value.description, at: path)
        default: try form.encode(value, at: path)
        }
    }

    /// The types that Codable knows by itself: asking them to encode themselves would come back here for ever.
    private static func isPlain(_ value: any LosslessStringConvertible & Encodable) -> Bool {
        value is String || value is any FixedWidthInteger || value is Double || value is Float
    }
}

private struct KeyedFormContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let form: Form
    let path: [any CodingKey]

    var codingPath: [any CodingKey] { path }

    func encodeNil(forKey key: Key) {}

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try SingleFormContainer(form: form, path: path + [key]).encode(value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        FormEncoder(form: form, path: path + [key]).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        FormEncoder(form: form, path: path + [key]).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { FormEncoder(form: form, path: path) }
    func superEncoder(forKey key: Key) -> any Encoder { FormEncoder(form: form, path: path + [key]) }
}

private struct UnkeyedFormContainer: UnkeyedEncodingContainer {
    let form: Form
    let path: [any CodingKey]
    private(set) var count = 0

    var codingPath: [any CodingKey] { path }

    init(form: Form, path: [any CodingKey]) {
        self.form = form
        self.path = path
    }

    private mutating func next() -> FormEncoder {
        defer { count += 1 }
        return FormEncoder(form: form, path: path + [ElementKey(count)])
    }

    mutating func encodeNil() { count += 1 }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try SingleFormContainer(form: form, path: next().path).encode(value)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        next().container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { next() }
}
