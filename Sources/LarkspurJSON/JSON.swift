/// A JSON value of any type. Read it without declaring types, build it from literals, change it in place.
///
/// A missing key or index returns `.null`, so a path can be followed without unwrapping each step:
///
/// ```swift
/// let reply = try JSON(data: body)
/// let tag = reply["user"]["tags"][0].string ?? "none"
/// ```
///
/// Two values are equal if they have the same content: `1 == 1.0`, and the order of members does not matter.
public enum JSON: Sendable, Hashable {
    /// A null. Reading a missing key or index also returns this case.
    case null
    /// A Boolean.
    case bool(Bool)
    /// A number with all its digits.
    case number(Number)
    /// A string.
    case string(String)
    /// An array.
    case array([JSON])
    /// An object with its members in order.
    case object(Object)

    /// Creates a number from an integer of any width, without loss.
    public init(_ value: some BinaryInteger) { self = .number(Number(value)) }

    /// Creates a number from a floating-point value, or `.null` for an infinity or a NaN, which JSON cannot represent.
    public init(_ value: Double) { self = value.isFinite ? .number(Number(value)) : .null }

    /// The handling of duplicate keys in an object, which RFC 8259 leaves open.
    public enum DuplicateKeyPolicy: Sendable {
        /// Keeps the last value of the key, at the position of the key's first occurrence, as browsers do.
        case keepLast
        /// Fails with ``JSONError/Reason/duplicateKey``. Use this policy if another program also reads the bytes and
        /// may keep another value of the key.
        case refuse
    }

    /// The maximum nesting of arrays and objects in a document.
    ///
    /// Values are parsed, compared and written recursively, so a deeper value could overflow the stack. This depth fits
    /// on a stack of 512 KiB in debug builds.
    public static let maximumDepth = 128

    /// Parses a document strictly by RFC 8259: a single value in UTF-8, surrounded only by white space.
    ///
    /// A byte order mark at the start is skipped, because some servers send it. An escape of a lone surrogate is an
    /// error, because a `String` cannot represent it. Any input produces a value or an error; no input can crash the
    /// parser.
    public init(data: Data, duplicateKeys: DuplicateKeyPolicy = .keepLast) throws(JSONError) {
        // The closure returns a `Result`. If the closure threw the error, `withUnsafeBytes` would rethrow it as
        // `any Error`.
        self = try data.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try JSONTapeBuilder.withTape(of: bytes.bindMemory(to: UInt8.self), duplicateKeys: duplicateKeys) {
                    tape, _ in JSON(tape, at: 0)
                }
            }
        }.get()
    }

    /// Parses a document and keeps all members of its objects, also those with equal keys. The value is only for
    /// showing what the bytes contain: the subscripts of an object with duplicate keys find one of the values.
    package init(keepingDuplicatesOf data: Data) throws(JSONError) {
        self = try data.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                try JSONTapeBuilder.withTape(of: bytes.bindMemory(to: UInt8.self), duplicateKeys: .keepLast) {
                    tape, _ in JSON(tape, at: 0, keepsDuplicates: true)
                }
            }
        }.get()
    }

    /// Parses a document in a string. The columns in errors are counted in UTF-8 bytes.
    public init(text: String, duplicateKeys: DuplicateKeyPolicy = .keepLast) throws(JSONError) {
        try self.init(data: Data(text.utf8), duplicateKeys: duplicateKeys)
    }

    /// Whether this is `null` or a missing value.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The Boolean; nil for other types. Numbers are not converted to Booleans.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number; nil for other types.
    public var number: Number? { if case .number(let value) = self { value } else { nil } }

    /// The number as an integer, if it is whole and fits into `Int`: 3 for `3`, `3.0` and `3e0`, nil for `3.5`.
    public var int: Int? { number?.integer(as: Int.self) }

    /// The number as the nearest `Double`; nil for other types and for numbers beyond the range of `Double`, such as
    /// `1e999`.
    public var double: Double? { number?.double }

    /// The string; nil for other types. Numbers are not converted to strings.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements of an array; nil for other types.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members of an object, in order; nil for other types. Example: `for (key, value) in json.object ?? [:]`.
    public var object: Object? { if case .object(let value) = self { value } else { nil } }

    /// The member with the key; `.null` if it is missing or this is not an object.
    ///
    /// Assigning to a member of `null` creates an object, so that `json["a"]["b"] = 1` builds the path. Assigning to a
    /// member of an array, string, number or Boolean has no effect. Assigning `.null` stores a null;
    /// ``removeValue(forKey:)`` removes the member.
    public subscript(key: String) -> JSON {
        get { object?[key] ?? .null }
        // `_modify` and not `set`, because a setter would copy every container on the path.
        _modify {
            var ignored = JSON.null
            guard var members = object ?? (isNull ? [:] : nil) else {
                yield &ignored
                return
            }
            self = .null  // `members` is now the only reference, so the change copies nothing
            defer { self = .object(members) }
            yield &members[adding: key]
        }
    }

    /// The element at the index; `.null` if it is missing or this is not an array.
    ///
    /// Assigning replaces the element. Assigning at the index after the last element appends the element. A `null`
    /// counts as an empty array. Assigning at other indices, or to values of other types, has no effect.
    public subscript(index: Int) -> JSON {
        get { array.flatMap { $0.indices.contains(index) ? $0[index] : nil } ?? .null }
        _modify {
            var ignored = JSON.null
            guard var elements = array ?? (isNull ? [] : nil), (0...elements.count).contains(index) else {
                yield &ignored
                return
            }
            self = .null
            if index == elements.count { elements.append(.null) }
            defer { self = .array(elements) }
            yield &elements[index]
        }
    }

    /// Removes the member with the key and returns its value; nil if it was missing.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> JSON? {
        guard case .object(var members) = self else { return nil }
        self = .null
        defer { self = .object(members) }
        return members.removeValue(forKey: key)
    }

    /// Returns the value without `null` members of objects, at all levels.
    ///
    /// Null elements of arrays stay, because without them the indices of later elements would change.
    public func removingNulls() -> JSON {
        switch self {
        case .null, .bool, .number, .string: self
        case .array(let elements): .array(elements.map { $0.removingNulls() })
        // `Optional.none`, because `nil` would be the JSON value null here.
        case .object(let members):
            .object(members.compactMapValues { $0.isNull ? Optional.none : $0.removingNulls() })
        }
    }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self.init(value) }
    public init(floatLiteral value: Double) { self.init(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Object(elements)) }
}
