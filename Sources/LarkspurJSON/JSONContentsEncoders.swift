/// The members of an object, as a type's `encode(to:)` writes them.
struct JSONKeyedEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: JSONValueEncoder

    private var output: JSONOutput { place.output }
    var codingPath: [any CodingKey] { place.codingPath }

    @inline(__always)
    private func name(_ key: some CodingKey) -> String {
        guard output.encoding.convertsKeys, !output.state.pointee.frames[place.frame].keepsKeys else {
            return key.stringValue
        }
        return output.encoding.converted(key, path: codingPath)
    }

    /// Encodes a member with a value that cannot fail.
    @inline(__always)
    private func set(_ key: some CodingKey, _ write: (inout JSONText) -> Void) throws {
        try place.check(.object)
        output.beginMember(name(key), place.frame)
        write(&output.state.pointee.text)
        output.endMember(place.frame)
    }

    mutating func encodeNil(forKey key: Key) throws { try set(key) { $0.append("null") } }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try place.check(.object)
        try output.undoing(place.frame) { output, frame in
            output.state.pointee.frames[frame].key = key
            output.beginMember(name(key), frame)
            _ = try output.write(value)
            output.endMember(frame)
        }
    }

    /// Begins a member whose value has an output of its own.
    private func child(_ key: some CodingKey) -> JSONOutput {
        guard place.isOpen(.object) else { return JSONOutput(output.encoding, prefix: codingPath + [key]) }
        output.state.pointee.frames[place.frame].key = key
        output.beginMember(name(key), place.frame)
        let child = output.addChild(at: place.frame)
        output.endMember(place.frame)
        return child
    }

    /// Opens the array or object of a key. If the key has one already, it is continued.
    private func nested(_ key: Key, _ kind: JSONOutput.Frame.Kind) -> JSONValueEncoder {
        let child = child(key)
        guard place.isOpen(.object), let earlier = output.earlierMember(place.frame) else {
            return child.begin().opened(kind)
        }
        return output.continued(earlier, kind, place.frame) ?? child.begin().opened(kind)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(JSONKeyedEncoder<NestedKey>(place: nested(key, .object)))
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONUnkeyedEncoder(place: nested(key, .array))
    }

    mutating func superEncoder() -> any Swift.Encoder { child(JSONKey.super).begin() }
    mutating func superEncoder(forKey key: Key) -> any Swift.Encoder { child(key).begin() }
}

/// The elements of an array, as a type's `encode(to:)` writes them.
struct JSONUnkeyedEncoder: UnkeyedEncodingContainer {
    let place: JSONValueEncoder

    private var output: JSONOutput { place.output }
    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int { place.isOpen(.array) ? output.state.pointee.frames[place.frame].count : 0 }

    /// Encodes an element by the closure.
    @inline(__always)
    private func add(_ write: (JSONOutput) throws -> Void) throws {
        try place.check(.array)
        try output.undoing(place.frame) { output, frame in
            output.beginElement(frame)
            try write(output)
            output.state.pointee.frames[frame].count &+= 1
        }
    }

    mutating func encodeNil() throws { try add { $0.state.pointee.text.append("null") } }
    mutating func encode<T: Encodable>(_ value: T) throws { try add { _ = try $0.write(value) } }

    /// Begins an element that has an output of its own.
    private func child() -> JSONOutput {
        guard place.isOpen(.array) else { return JSONOutput(output.encoding, prefix: codingPath) }
        output.beginElement(place.frame)
        let child = output.addChild(at: place.frame)
        output.state.pointee.frames[place.frame].count += 1
        return child
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(JSONKeyedEncoder<NestedKey>(place: child().begin().opened(.object)))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONUnkeyedEncoder(place: child().begin().opened(.array))
    }

    mutating func superEncoder() -> any Swift.Encoder { child().begin() }
}

// Each type has its own function, so that a compiler can call it without generics.
extension JSONKeyedEncoder {
    mutating func encode(_ value: Bool, forKey key: Key) throws { try set(key) { $0.append(value) } }
    mutating func encode(_ value: String, forKey key: Key) throws {
        try set(key) { $0.appendString(value, escapesSlashes: output.encoding.style.escapesSlashes) }
    }
    mutating func encode(_ value: Double, forKey key: Key) throws { try set(number: value, key) }
    mutating func encode(_ value: Float, forKey key: Key) throws { try set(number: value, key) }
    mutating func encode(_ value: Int, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: Int8, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: Int16, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: Int32, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: Int64, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: UInt, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    mutating func encode(_ value: Int128, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    mutating func encode(_ value: UInt128, forKey key: Key) throws { try set(key) { $0.appendInteger(value) } }

    private func set<Number: BinaryFloatingPoint & CustomStringConvertible & Sendable & Encodable>(
        number value: Number, _ key: Key
    ) throws {
        if value.isFinite { return try set(key) { $0.appendNumber(value) } }
        var copy = self
        try copy.encode(Optional(value), forKey: key)
    }
}

extension JSONUnkeyedEncoder {
    mutating func encode(_ value: Bool) throws { try add { $0.state.pointee.text.append(value) } }
    mutating func encode(_ value: String) throws { try add { _ = $0.string(value) } }
    mutating func encode(_ value: Double) throws { try add { _ = try $0.number(value) } }
    mutating func encode(_ value: Float) throws { try add { _ = try $0.number(value) } }
    mutating func encode(_ value: Int) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: Int8) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: Int16) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: Int32) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: Int64) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: UInt) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: UInt8) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: UInt16) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: UInt32) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    mutating func encode(_ value: UInt64) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    mutating func encode(_ value: Int128) throws { try add { $0.state.pointee.text.appendInteger(value) } }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    mutating func encode(_ value: UInt128) throws { try add { $0.state.pointee.text.appendInteger(value) } }
}
