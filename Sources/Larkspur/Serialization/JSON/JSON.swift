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
/// of their members. A key is a `String`, so two spellings that Swift holds for the same text (`é` composed or not) are one.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Number)
    case string(String)
    case array([JSON])
    case object(Object)

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

// MARK: - Comparing

extension JSON: Hashable {
    public static func == (left: JSON, right: JSON) -> Bool {
        // Not recursive, for the sake of small stacks: pairs still to be compared wait in a list.
        var pairs: [(JSON, JSON)] = []
        var next: (JSON, JSON)? = (left, right)
        while let pair = next {
            switch pair {
            case (.null, .null): break
            case (.bool(let left), .bool(let right)):
                guard left == right else { return false }
            case (.number(let left), .number(let right)):
                guard left == right else { return false }
            case (.string(let left), .string(let right)):
                guard left == right else { return false }
            case (.array(let left), .array(let right)):
                guard left.count == right.count else { return false }
                pairs.append(contentsOf: zip(left, right))
            case (.object(let left), .object(let right)):
                guard left.count == right.count else { return false }
                for (member, twin) in zip(left, right) {
                    guard let value = member.key == twin.key ? twin.value : right[member.key] else { return false }
                    pairs.append((member.value, value))
                }
            default: return false
            }
            next = pairs.popLast()
        }
        return true
    }

    public func hash(into hasher: inout Hasher) {
        hash(into: &hasher, depth: 0)
    }

    /// Containers further in than `depth` 8 count only by their size: equality looks closer, should it ever matter.
    private func hash(into hasher: inout Hasher, depth: Int) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let elements):
            hasher.combine(elements.count)
            guard depth < 8 else { return }
            for element in elements { element.hash(into: &hasher, depth: depth + 1) }
        case .object(let members):
            hasher.combine(members.count)
            guard depth < 8 else { return }
            // Each member by itself, so that their order does not count.
            var sum = 0
            for member in members {
                var memberHasher = hasher
                memberHasher.combine(member.key)
                member.value.hash(into: &memberHasher, depth: depth + 1)
                sum ^= memberHasher.finalize()
            }
            hasher.combine(sum)
        }
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

    /// The members as a dictionary, if this is an object.
    ///
    /// It is made on each call: match `case .object(let members)` to go through them as they stand, in order.
    public var object: [String: JSON]? {
        guard case .object(let members) = self else { return nil }
        return Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
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
                yield &members[adding: key]
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
        self = .object(Object(elements))
    }
}
