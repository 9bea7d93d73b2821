/// An ordered list of header fields with case-insensitive names, which may contain repeated fields.
///
/// ``add(_:)`` appends a field, even if the list has a field of this name; ``update(_:)`` leaves exactly one field of
/// this name. Some names, such as `Authorization`, allow only one field. A request with two fields of such a name
/// fails.
public struct HTTPHeaders: Hashable, Sendable {
    @usableFromInline package internal(set) var fields: [HTTPHeader]

    /// Creates an empty list.
    public init() { fields = [] }

    /// Creates a list of these fields in their order, including repeated ones.
    @inlinable public init(_ fields: some Sequence<HTTPHeader>) { self.fields = Array(fields) }

    /// Creates a list from a dictionary, sorted by name, because a dictionary has no order.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
    }

    /// Appends a field, even if there is a field of this name already.
    public mutating func add(name: String, value: String) { add(HTTPHeader(name: name, value: value)) }

    /// Appends a field, even if there is a field of this name already.
    public mutating func add(_ header: HTTPHeader) { fields.append(header) }

    /// Replaces all fields of this name with the new field, at the position of the first replaced field. If that field
    /// was secret, the new field is secret too.
    public mutating func update(_ header: HTTPHeader) {
        guard let first = index(of: header.name) else { return add(header) }
        let isSecret = fields[first].isSecret
        fields[first] = header
        if isSecret { fields[first].isSecret = true }
        let later = fields[(first + 1)...].filter { !Self.areEqual($0.name, header.name) }
        fields.replaceSubrange((first + 1)..., with: later)
    }

    /// Replaces all fields of this name with the new field, at the position of the first replaced field. If that field
    /// was secret, the new field is secret too.
    public mutating func update(name: String, value: String) { update(HTTPHeader(name: name, value: value)) }

    /// Marks the values of these fields as secrets.
    package mutating func hide(_ names: [String]) {
        for index in fields.indices where !fields[index].isSecret {
            let isNamed = names.contains { Self.areEqual($0, fields[index].name) }
            if isNamed { fields[index].isSecret = true }
        }
    }

    /// Removes all fields of this name.
    public mutating func remove(name: String) { fields.removeAll { Self.areEqual($0.name, name) } }

    /// Returns the value of the first field of this name; nil if there is no such field.
    public func value(for name: String) -> String? { index(of: name).map { fields[$0].value } }

    /// Returns all values of this name, in order.
    public func values(for name: String) -> [String] {
        fields.filter { Self.areEqual($0.name, name) }.map(\.value)
    }

    /// The first value of this name. Setting a value calls ``update(_:)``; setting nil removes all fields of the name.
    public subscript(name: String) -> String? {
        get { value(for: name) }
        set {
            if let newValue { update(name: name, value: newValue) } else { remove(name: name) }
        }
    }

    /// Sorts the fields by name, ignoring case. Fields of the same name keep their order, because it has a meaning.
    public mutating func sort() { self = sorted() }

    /// Returns the fields sorted by name, ignoring case. Fields of the same name keep their order, because it has a
    /// meaning.
    public func sorted() -> HTTPHeaders {
        let named = fields.enumerated().map { (name: $0.element.name.lowercased(), offset: $0.offset) }
        return HTTPHeaders(named.sorted { ($0.name, $0.offset) < ($1.name, $1.offset) }.map { fields[$0.offset] })
    }

    /// The fields as a dictionary, for APIs that need a dictionary. The values of repeated fields are joined with
    /// commas. The key is the name of the first of these fields.
    public var dictionary: [String: String] {
        let pairs = fields.map { (fields[index(of: $0.name) ?? 0].name, $0.value) }
        return Dictionary(pairs) { "\($0), \($1)" }
    }

    package mutating func addMissing(from other: HTTPHeaders) {
        if fields.isEmpty { return fields = other.fields }
        let missing = other.fields.filter { index(of: $0.name) == nil }
        fields.append(contentsOf: missing)
    }

    /// Replaces all fields whose names occur in the other list with the fields of that list. If a name is repeated in
    /// the other list, all its fields are kept.
    package mutating func replace(with other: HTTPHeaders) {
        for (offset, field) in other.fields.enumerated() {
            let isRepeated = other.fields[..<offset].contains { Self.areEqual($0.name, field.name) }
            if isRepeated { add(field) } else { update(field) }
        }
    }

    private func index(of name: String) -> Int? { fields.firstIndex { Self.areEqual($0.name, name) } }

    package static func areEqual(_ lhs: String, _ rhs: String) -> Bool {
        guard lhs.utf8.count == rhs.utf8.count else { return false }
        guard let first = lhs.utf8.first, let other = rhs.utf8.first else { return true }
        guard lowercased(first) == lowercased(other) else { return false }
        let areEqual = lhs.utf8.withContiguousStorageIfAvailable { left in
            rhs.utf8.withContiguousStorageIfAvailable { right in
                for (one, two) in zip(left, right) where one != two && lowercased(one) != lowercased(two) {
                    return false
                }
                return true
            }
        }
        return (areEqual ?? nil) ?? lhs.utf8.elementsEqual(rhs.utf8) { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}

extension HTTPHeaders: RandomAccessCollection {
    @inlinable public var startIndex: Int { fields.startIndex }
    @inlinable public var endIndex: Int { fields.endIndex }
    @inlinable public subscript(position: Int) -> HTTPHeader { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, CustomStringConvertible {
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPHeader(name: $0.0, value: $0.1) }
    }

    public init(arrayLiteral elements: HTTPHeader...) { fields = elements }

    /// One line for each field. A value is hidden if its field is marked as a secret, or if `Redaction.standard` hides
    /// fields of this name.
    public var description: String { shown.joined(separator: "\n") }

    private var shown: [String] { fields.map(\.description) }
}

extension HTTPHeaders: CustomReflectable {
    /// A mirror of the redacted lines, so that `dump` does not show secrets that the description hides.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: shown) }
}

extension ResponseHead {
    /// The received fields, with case-insensitive names.
    public var headers: HTTPHeaders { HTTPHeaders(fields) }
}
