/// Any JSON value: read it without declaring types, build it from literals, change it in place.
///
/// Looking for something that is not there gives `.null`, so a path can be followed without unwrapping each step:
///
/// ```swift
/// let reply = try JSON(data: body)
/// let tag = reply["user"]["tags"][0].string ?? "none"
/// ```
///
/// Two values are equal when they say the same: `1 == 1.0`, and objects regardless of the order of their members.
public enum JSON: Sendable, Hashable {
    /// Also what a missing key gives.
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number with all the digits that it was written with.
    case number(Number)
    /// A text.
    case string(String)
    /// Values in their order.
    case array([JSON])
    /// Members in their order.
    case object(Object)

    /// An integer of any width, kept exactly.
    public init(_ value: some BinaryInteger) { self = .number(Number(value)) }

    /// A floating-point number; `.null` for an infinity or a NaN, which JSON cannot write.
    public init(_ value: Double) { self = value.isFinite ? .number(Number(value)) : .null }

    /// What becomes of a key that an object has twice, which RFC 8259 leaves open.
    public enum DuplicateKeyPolicy: Sendable {
        /// The last value counts, as in browsers, at the place of the first.
        case keepLast
        /// The text is refused: where another program may read the same bytes and pick the other value.
        case refuse
    }

    /// How many arrays and objects a text may have inside one another.
    ///
    /// Values are read, compared and written by recursion: so many levels fit on a stack of 512 KiB in debug builds.
    public static let maximumDepth = 128

    /// Parses a document, strictly by RFC 8259: one value in UTF-8, with nothing around it but white space.
    ///
    /// A byte order mark at the start is skipped, because servers send it. Escapes that form half a surrogate pair are
    /// refused, for no `String` can hold them. Any input whatever gives a value or an error.
    public init(data: Data, duplicateKeys: DuplicateKeyPolicy = .keepLast) throws(JSONError) {
        // By way of a result: `withUnsafeBytes` would throw an error of any type.
        self = try data.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                var parser = JSONParser(text: bytes.bindMemory(to: UInt8.self), duplicateKeys: duplicateKeys)
                return try parser.document()
            }
        }.get()
    }

    /// Parses a document in a string; columns of errors count its UTF-8 bytes.
    public init(text: String, duplicateKeys: DuplicateKeyPolicy = .keepLast) throws(JSONError) {
        try self.init(data: Data(text.utf8), duplicateKeys: duplicateKeys)
    }

    /// Whether this is `null`, or was looked up and not found.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The boolean, if this is one; numbers are not taken for booleans.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number, if it is one.
    public var number: Number? { if case .number(let value) = self { value } else { nil } }

    /// The number as an integer, if it is a whole one that fits: 3 for `3`, `3.0` and `3e0`, nil for `3.5`.
    public var int: Int? { number?.integer(as: Int.self) }

    /// The nearest `Double`, if this is a number; nil for one too large for any, such as `1e999`.
    public var double: Double? { number?.double }

    /// The text, if this is a string; numbers are not turned into text.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements, if it is an array.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members in their order, if this is an object: `for (key, value) in json.object ?? [:]`.
    public var object: Object? { if case .object(let value) = self { value } else { nil } }

    /// The member of that key; `.null` if there is none, or if this is not an object.
    ///
    /// Setting turns a `null` into an object, so that `json["a"]["b"] = 1` builds the path. Any other kind is left as
    /// it is. Assigning `.null` stores a null; ``removeValue(forKey:)`` takes the member away.
    public subscript(key: String) -> JSON {
        get { object?[key] ?? .null }
        // Not a setter: read, change and write back would copy every container on the path.
        _modify {
            var ignored = JSON.null
            guard var members = object ?? (isNull ? [:] : nil) else {
                yield &ignored
                return
            }
            self = .null  // leaves `members` as the only owner
            defer { self = .object(members) }
            yield &members[adding: key]
        }
    }

    /// The element at that index; `.null` if there is none, or if this is not an array.
    ///
    /// Setting replaces the element, or appends at the index one past the end (a `null` counts as an empty array).
    /// Any other index and any other kind leave the value as it is.
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

    /// Takes the member of that key away and returns it; nil if there was none.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> JSON? {
        guard case .object(var members) = self else { return nil }
        self = .null
        defer { self = .object(members) }
        return members.removeValue(forKey: key)
    }

    /// The same value without the members of objects that are `null`, at every level.
    ///
    /// Elements of arrays stay, also those that are `null`: without one, those behind it would change their index.
    public func removingNulls() -> JSON {
        switch self {
        case .null, .bool, .number, .string: self
        case .array(let elements): .array(elements.map { $0.removingNulls() })
        case .object(let members):
            .object(
                Object(
                    distinct: members.filter { !$0.value.isNull }.map {
                        .init(key: $0.key, value: $0.value.removingNulls())
                    }))
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
