/// Any JSON value: read it without declaring types, build it from literals, change it in place.
///
/// Looking for something that is not there gives `.null`, so a path can be followed without unwrapping each step:
///
/// ```swift
/// let reply = try JSON(data: body)
/// let tag = reply["user"]["tags"][0].string ?? "none"
/// ```
///
/// Two values are equal when they say the same: numbers compare by value (`1 == 1.0`), objects regardless of the order
/// of their keys. A key is a `String`, so two spellings that Swift holds for the same text (`é` composed or not) are one.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Number)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// An integer of any width, kept exactly.
    public init(_ value: some BinaryInteger) {
        self = .number(Number(value))
    }

    /// A floating-point number; `.null` for an infinity or a NaN, which JSON cannot write.
    ///
    /// Giving way here, rather than when it is written, means that what you see in the value is what the server gets.
    public init(_ value: Double) {
        self = Number(value).map(JSON.number) ?? .null
    }
}

// MARK: - Reading

extension JSON {
    /// Whether this is `null`, or was looked up and not found.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean, if this is one; numbers are not taken for booleans.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number with all its digits, if this is one.
    public var number: Number? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an integer, if it is a whole one that fits: 3 for `3`, `3.0` and `3e0`, nil for `3.5`.
    public var int: Int? {
        number?.integer(as: Int.self)
    }

    /// The nearest `Double`, if this is a number; nil for one too large for any, such as `1e999`.
    public var double: Double? {
        number?.double
    }

    /// The text, if this is a string; numbers are not turned into text.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, if this is an array.
    public var array: [JSON]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members by key, if this is an object.
    public var object: [String: JSON]? {
        if case .object(let value) = self { value } else { nil }
    }
}

// MARK: - Looking up and changing

extension JSON {
    /// The member of that key; `.null` if there is none, or if this is not an object.
    ///
    /// Setting adds or replaces the member, and turns a `null` into an object, so that `json["a"]["b"] = 1` builds the
    /// path. Any other kind is left as it is: an assignment by mistake does not wipe out a value. Assigning `.null`
    /// stores a null; ``removeValue(forKey:)`` takes the member away.
    public subscript(key: String) -> JSON {
        get {
            if case .object(let members) = self { members[key] ?? .null } else { .null }
        }
        // Not a setter: read, change and write back would copy every container on the path.
        _modify {
            switch self {
            case .object(var members):
                self = .null  // leaves `members` as the only owner
                defer { self = .object(members) }
                yield &members[key, default: .null]
            case .null:
                var member = JSON.null
                defer { self = .object([key: member]) }
                yield &member
            case .bool, .number, .string, .array:
                var ignored = JSON.null
                yield &ignored
            }
        }
    }

    /// The element at that index; `.null` if there is none, or if this is not an array.
    ///
    /// Setting replaces the element, or appends at the index one past the end (a `null` counts as an empty array).
    /// Any other index and any other kind leave the value as it is.
    public subscript(index: Int) -> JSON {
        get {
            if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { .null }
        }
        _modify {
            switch self {
            case .array(var elements) where elements.indices.contains(index):
                self = .null
                defer { self = .array(elements) }
                yield &elements[index]
            case .array(var elements) where index == elements.count:
                self = .null
                var element = JSON.null
                defer {
                    elements.append(element)
                    self = .array(elements)
                }
                yield &element
            case .null where index == 0:
                var element = JSON.null
                defer { self = .array([element]) }
                yield &element
            case .null, .bool, .number, .string, .array, .object:
                var ignored = JSON.null
                yield &ignored
            }
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
}

// MARK: - Literals

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) {
        self = .null
    }

    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    public init(integerLiteral value: Int64) {
        self.init(value)
    }

    public init(floatLiteral value: Double) {
        self.init(value)
    }

    public init(stringLiteral value: String) {
        self = .string(value)
    }

    public init(arrayLiteral elements: JSON...) {
        self = .array(elements)
    }

    /// Of a key written twice the last one counts, as in parsed text.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
