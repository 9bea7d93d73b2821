/// The encoder of one value, which is also its own single-value container.
struct JSONValueEncoder: Swift.Encoder, SingleValueEncodingContainer {
    let output: JSONOutput
    /// The position of the value's frame.
    let index: UInt32
    private let id: UInt32

    init(_ output: JSONOutput, _ index: UInt32, _ id: UInt32) {
        (self.output, self.index, self.id) = (output, index, id)
    }

    var frame: Int { Int(index) }
    var codingPath: [any CodingKey] { output.path(to: frame) }
    var userInfo: [CodingUserInfoKey: Any] { output.encoding.options.userInfo }

    /// Whether this value is being encoded, and no other value in it.
    @inline(__always)
    var isCurrent: Bool {
        let count = output.state.pointee.frames.count
        return count == frame &+ 1 && output.state.pointee.frames[frame].id == id
    }

    /// Whether this value is being encoded as an array or an object. A container of it cannot be used if the value has
    /// another type by now.
    @inline(__always)
    func isOpen(_ kind: JSONOutput.Frame.Kind) -> Bool {
        isCurrent && output.state.pointee.frames[frame].kind == kind
    }

    /// Throws if a value uses an encoder or a container at the wrong time: while a value inside it is encoded, or after
    /// its end.
    @inline(__always)
    func check() throws { if !isCurrent { throw misuse() } }

    @inline(__always)
    func check(_ kind: JSONOutput.Frame.Kind) throws { if !isOpen(kind) { throw misuse() } }

    @inline(never)
    private func misuse() -> EncodingError {
        .invalidValue(
            "",
            .init(
                codingPath: codingPath, debugDescription: "an encoder or container is used after the end of its value"))
    }

    /// Opens the array or object of this value, or continues it if it is open.
    func opened(_ kind: JSONOutput.Frame.Kind) -> JSONValueEncoder {
        // These functions cannot throw. The text of a misused encoder is dropped.
        guard isCurrent else { return JSONOutput(output.encoding, prefix: codingPath).begin().opened(kind) }
        switch output.state.pointee.frames[frame].kind {
        case kind: break
        case .scalar: output.reopen(kind, frame)
        case .none, .array, .object: output.open(kind, frame)
        }
        return self
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(JSONKeyedEncoder(place: opened(.object)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { JSONUnkeyedEncoder(place: opened(.array)) }
    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Encodes the value by the closure. If that fails, the value is as if it had not been encoded.
    @inline(__always)
    private func set(_ write: (JSONOutput) throws -> Void) throws {
        try check()
        output.reset(frame)
        output.state.pointee.frames[frame].kind = .scalar
        let (mark, count) = (output.state.pointee.depth, output.state.pointee.members.count)
        let start = output.state.pointee.text.count
        do { try write(output) } catch {
            output.undo(to: frame, start, count, depth: mark)
            output.state.pointee.frames[frame].kind = .none
            throw error
        }
    }

    func encodeNil() throws { try set { $0.state.pointee.text.append("null") } }
    func encode<T: Encodable>(_ value: T) throws { try set { _ = try $0.write(value) } }
}

// Each type has its own function, so that a compiler can call it without generics.
extension JSONValueEncoder {
    private func set(word value: some FixedWidthInteger) throws {
        try set { $0.state.pointee.text.appendInteger(value) }
    }

    func encode(_ value: Bool) throws { try set { $0.state.pointee.text.append(value) } }
    func encode(_ value: String) throws { try set { _ = $0.string(value) } }
    func encode(_ value: Double) throws { try set { _ = try $0.number(value) } }
    func encode(_ value: Float) throws { try set { _ = try $0.number(value) } }
    func encode(_ value: Int) throws { try set(word: value) }
    func encode(_ value: Int8) throws { try set(word: value) }
    func encode(_ value: Int16) throws { try set(word: value) }
    func encode(_ value: Int32) throws { try set(word: value) }
    func encode(_ value: Int64) throws { try set(word: value) }
    func encode(_ value: UInt) throws { try set(word: value) }
    func encode(_ value: UInt8) throws { try set(word: value) }
    func encode(_ value: UInt16) throws { try set(word: value) }
    func encode(_ value: UInt32) throws { try set(word: value) }
    func encode(_ value: UInt64) throws { try set(word: value) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func encode(_ value: Int128) throws { try set(word: value) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func encode(_ value: UInt128) throws { try set(word: value) }
}
