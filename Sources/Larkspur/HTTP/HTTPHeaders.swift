/// One header field of a request or response.
public typealias HTTPHeader = HeaderField

/// Header fields in order, found whatever the case of their names, with repeats where the protocol has them.
///
/// `add` appends a further field of that name; `update` leaves exactly one. The two are separate because a dictionary's
/// "set" silently loses repeated fields, and a blind "append" doubles single ones. A request that would go out with two of
/// a field that stands alone, such as `Authorization`, is refused.
public struct HTTPHeaders: Hashable, Sendable {
    package private(set) var fields: [HTTPHeader]

    /// No fields.
    public init() { fields = [] }

    /// These fields, in their order, repeats included.
    public init(_ fields: some Sequence<HTTPHeader>) { self.fields = Array(fields) }

    /// Fields from a dictionary, sorted by name, because a dictionary has no order of its own.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
    }

    /// Appends a field, whether or not there is one of this name already.
    public mutating func add(name: String, value: String) { add(HTTPHeader(name: name, value: value)) }

    /// Appends a field, whether or not there is one of this name already.
    public mutating func add(_ header: HTTPHeader) { fields.append(header) }

    /// Leaves exactly one field of this name, at the place of the first one there was. A value in the place of a secret is a
    /// secret too.
    public mutating func update(_ header: HTTPHeader) {
        guard let first = index(of: header.name) else { return add(header) }
        let isSecret = fields[first].isSecret
        fields[first] = header
        if isSecret { fields[first].isSecret = true }
        let later = fields[(first + 1)...].filter { !Self.areEqual($0.name, header.name) }
        fields.replaceSubrange((first + 1)..., with: later)
    }

    /// Leaves exactly one field of this name, at the place of the first one there was. A value in the place of a secret is a
    /// secret too.
    public mutating func update(name: String, value: String) { update(HTTPHeader(name: name, value: value)) }

    /// Marks the values of these names as secrets.
    mutating func hide(_ names: [String]) {
        for index in fields.indices where !fields[index].isSecret {
            let isNamed = names.contains { Self.areEqual($0, fields[index].name) }
            if isNamed { fields[index].isSecret = true }
        }
    }

    /// Removes every field of this name.
    public mutating func remove(name: String) { fields.removeAll { Self.areEqual($0.name, name) } }

    /// The first value of this name.
    public func value(for name: String) -> String? { index(of: name).map { fields[$0].value } }

    /// All values of this name, in order.
    public func values(for name: String) -> [String] {
        fields.filter { Self.areEqual($0.name, name) }.map(\.value)
    }

    /// The first value of this name; setting updates, setting nil removes.
    public subscript(name: String) -> String? {
        get { value(for: name) }
        set {
            if let newValue { update(name: name, value: newValue) } else { remove(name: name) }
        }
    }

    /// Sorts the fields by name, whatever the case; those of one name keep their order, which has a meaning.
    public mutating func sort() { self = sorted() }

    /// The fields sorted by name, whatever the case; those of one name keep their order, which has a meaning.
    public func sorted() -> HTTPHeaders {
        let named = fields.enumerated().map { (name: $0.element.name.lowercased(), place: $0.offset) }
        return HTTPHeaders(named.sorted { ($0.name, $0.place) < ($1.name, $1.place) }.map { fields[$0.place] })
    }

    /// The fields as a dictionary, for those who need one: repeated ones joined with commas, under their first spelling.
    public var dictionary: [String: String] {
        let pairs = fields.map { (fields[index(of: $0.name) ?? 0].name, $0.value) }
        return Dictionary(pairs) { "\($0), \($1)" }
    }

    package mutating func addMissing(from other: HTTPHeaders) {
        if fields.isEmpty { return fields = other.fields }
        let missing = other.fields.filter { index(of: $0.name) == nil }
        fields.append(contentsOf: missing)
    }

    private func index(of name: String) -> Int? { fields.firstIndex { Self.areEqual($0.name, name) } }

    static func areEqual(_ lhs: String, _ rhs: String) -> Bool {
        guard lhs.utf8.count == rhs.utf8.count else { return false }
        guard let first = lhs.utf8.first, let other = rhs.utf8.first else { return true }
        return lowercased(first) == lowercased(other)
            && lhs.utf8.elementsEqual(rhs.utf8) { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }
}

extension HTTPHeaders: RandomAccessCollection {
    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> HTTPHeader { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, CustomStringConvertible {
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPHeader(name: $0.0, value: $0.1) }
    }

    public init(arrayLiteral elements: HTTPHeader...) { fields = elements }

    /// A line for each field. Values that are marked as secrets, or whose names `Redaction.standard` knows, are hidden.
    public var description: String { shown.joined(separator: "\n") }

    private var shown: [String] { fields.map(\.description) }
}

extension HTTPHeaders: CustomReflectable {
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: shown) }
}

extension ResponseHead {
    /// The fields as they came, found whatever the case of their names.
    public var headers: HTTPHeaders { HTTPHeaders(fields) }
}
