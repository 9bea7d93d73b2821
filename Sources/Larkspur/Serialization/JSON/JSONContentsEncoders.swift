/// The members of an object, as a type's `encode(to:)` writes them.
struct JSONKeyedEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: JSONEncoding
    let path: JSONPath?
    let contents: JSONContents
    let keepsKeys: Bool

    var codingPath: [any CodingKey] { JSONPath.keys(path) }

    @inline(__always)
    private func name(_ key: some CodingKey) -> String {
        encoding.convertsKeys && !keepsKeys ? converted(key) : key.stringValue
    }

    private func converted(_ key: some CodingKey) -> String {
        switch encoding.options.keyEncodingStrategy {
        case .useDefaultKeys: key.stringValue
        case .convertToSnakeCase: JSONSnakeCase.snakeCase(key.stringValue)
        case .custom(let convert): convert(codingPath + [key]).stringValue
        @unknown default: key.stringValue
        }
    }

    private func set(_ key: some CodingKey, _ part: JSONPart) { contents.set(name(key), part) }

    mutating func encodeNil(forKey key: Key) throws { set(key, .word("null")) }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        set(key, try JSONPartEncoder.part(of: value, encoding, JSONPath(path, key)) ?? .empty)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        let nested = contents.contents(name(key), isObject: true)
        return KeyedEncodingContainer(
            JSONKeyedEncoder<NestedKey>(
                encoding: encoding, path: JSONPath(path, key), contents: nested, keepsKeys: false))
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        let nested = contents.contents(name(key), isObject: false)
        return JSONUnkeyedEncoder(encoding: encoding, path: JSONPath(path, key), contents: nested)
    }

    mutating func superEncoder() -> any Swift.Encoder { encoder(JSONKey.super) }
    mutating func superEncoder(forKey key: Key) -> any Swift.Encoder { encoder(key) }

    private func encoder(_ key: some CodingKey) -> any Swift.Encoder {
        let slot = JSONSlot()
        set(key, .slot(slot))
        return JSONPartEncoder(encoding: encoding, path: JSONPath(path, key), slot: slot)
    }
}

/// The elements of an array, as a type's `encode(to:)` writes them.
struct JSONUnkeyedEncoder: UnkeyedEncodingContainer {
    let encoding: JSONEncoding
    let path: JSONPath?
    let contents: JSONContents

    var codingPath: [any CodingKey] { JSONPath.keys(path) }
    var count: Int { contents.parts.count }
    private var next: JSONPath { JSONPath(path, JSONKey(intValue: count)) }

    mutating func encodeNil() throws { contents.append(.word("null")) }
    mutating func encode<T: Encodable>(_ value: T) throws {
        contents.append(try JSONPartEncoder.part(of: value, encoding, next) ?? .empty)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        let (path, nested) = (next, JSONContents(isObject: true))
        contents.append(.contents(nested))
        return KeyedEncodingContainer(
            JSONKeyedEncoder<NestedKey>(encoding: encoding, path: path, contents: nested, keepsKeys: false))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        let (path, nested) = (next, JSONContents(isObject: false))
        contents.append(.contents(nested))
        return JSONUnkeyedEncoder(encoding: encoding, path: path, contents: nested)
    }

    mutating func superEncoder() -> any Swift.Encoder {
        let (path, slot) = (next, JSONSlot())
        contents.append(.slot(slot))
        return JSONPartEncoder(encoding: encoding, path: path, slot: slot)
    }
}

// Each type has its own function, so that a compiler can call it without generics.
extension JSONKeyedEncoder {
    mutating func encode(_ value: Bool, forKey key: Key) throws { set(key, .word(value ? "true" : "false")) }
    mutating func encode(_ value: String, forKey key: Key) throws { set(key, .string(value)) }
    mutating func encode(_ value: Int, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: Int8, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: Int64, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { set(key, .word(value.description)) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { set(key, .word(value.description)) }
}

extension JSONUnkeyedEncoder {
    mutating func encode(_ value: Bool) throws { contents.append(.word(value ? "true" : "false")) }
    mutating func encode(_ value: String) throws { contents.append(.string(value)) }
    mutating func encode(_ value: Int) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: Int8) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: Int16) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: Int32) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: Int64) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: UInt) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: UInt8) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: UInt16) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: UInt32) throws { contents.append(.word(value.description)) }
    mutating func encode(_ value: UInt64) throws { contents.append(.word(value.description)) }
}

extension JSONPartEncoder {
    func encode(_ value: Bool) throws { slot.part = .word(value ? "true" : "false") }
    func encode(_ value: String) throws { slot.part = .string(value) }
    func encode(_ value: Int) throws { slot.part = .word(value.description) }
    func encode(_ value: Int8) throws { slot.part = .word(value.description) }
    func encode(_ value: Int16) throws { slot.part = .word(value.description) }
    func encode(_ value: Int32) throws { slot.part = .word(value.description) }
    func encode(_ value: Int64) throws { slot.part = .word(value.description) }
    func encode(_ value: UInt) throws { slot.part = .word(value.description) }
    func encode(_ value: UInt8) throws { slot.part = .word(value.description) }
    func encode(_ value: UInt16) throws { slot.part = .word(value.description) }
    func encode(_ value: UInt32) throws { slot.part = .word(value.description) }
    func encode(_ value: UInt64) throws { slot.part = .word(value.description) }
    func encode(_ value: Double) throws { slot.part = try Self.number(value, encoding, path) }
    func encode(_ value: Float) throws { slot.part = try Self.number(value, encoding, path) }
}
