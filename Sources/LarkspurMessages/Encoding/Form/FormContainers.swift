// Each container wraps a node. When a value requests a container, the kind of container becomes the node's kind.

struct KeyedFormContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: FormNode

    var codingPath: [any CodingKey] { node.codingPath }

    func encodeNil(forKey key: Key) { node.add(node.form.options.nilEncoding.value, for: key) }
    @inline(__always)
    func encode(_ value: some Encodable, forKey key: Key) throws { try node.add(value, for: key) }

    func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        node.child(for: key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        node.child(for: key).unkeyedContainer()
    }

    /// Returns the same node, so that the keys of a superclass are written next to the keys of its subclass.
    func superEncoder() -> any Encoder { node }
    func superEncoder(forKey key: Key) -> any Encoder { node.child(for: key) }
}

struct UnkeyedFormContainer: UnkeyedEncodingContainer {
    let node: FormNode

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int { node.members.count }
    private var next: FormKey { FormKey(intValue: count) }

    func encodeNil() { node.add(node.form.options.nilEncoding.value, for: next) }
    @inline(__always)
    func encode(_ value: some Encodable) throws { try node.add(value, for: next) }

    func nestedContainer<Key: CodingKey>(keyedBy keyType: Key.Type) -> KeyedEncodingContainer<Key> {
        node.child(for: next).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { node.child(for: next).unkeyedContainer() }
    func superEncoder() -> any Encoder { node.child(for: next) }
}

struct SingleFormContainer: SingleValueEncodingContainer {
    let node: FormNode

    var codingPath: [any CodingKey] { node.codingPath }

    func encodeNil() { node.write(node.form.options.nilEncoding.value) }
    @inline(__always)
    func encode(_ value: some Encodable) throws { try node.set(value) }
}

struct FormKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = intValue.description
        self.intValue = intValue
    }
}

// Besides the generic `encodeIfPresent`, Codable declares an overload for each of its basic types. The default
// implementations of these overloads drop nil values and reject 128-bit integers, so this extension implements the
// overloads.
extension KeyedFormContainer {
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }

    @inline(__always)
    private func encodeOptional(_ value: (some Encodable)?, forKey key: Key) throws {
        if let value { try node.add(value, for: key) } else { encodeNil(forKey: key) }
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension KeyedFormContainer {
    func encode(_ value: Int128, forKey key: Key) throws { try node.add(value, for: key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try node.add(value, for: key) }
    func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
    func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encodeOptional(value, forKey: key) }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension UnkeyedFormContainer {
    func encode(_ value: Int128) throws { try node.add(value, for: next) }
    func encode(_ value: UInt128) throws { try node.add(value, for: next) }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension SingleFormContainer {
    func encode(_ value: Int128) throws { try node.set(value) }
    func encode(_ value: UInt128) throws { try node.set(value) }
}
