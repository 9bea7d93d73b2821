extension JSON {
    /// The members of an object, each key once, in the order in which they were written.
    ///
    /// Objects are small as a rule, and comparing a few keys costs less than hashing them all while parsing. So members
    /// stand in an array, and only an object of many has an index besides. That also keeps the order, which JSON gives
    /// no meaning but readers do; equality and hash disregard it.
    public struct Object: Sendable {
        public struct Member: Sendable {
            public let key: String
            public internal(set) var value: JSON
        }

        /// How many members may be searched one by one.
        static let searchLimit = 16

        private(set) var members: [Member] = []
        /// Where each key stands; empty up to `searchLimit` members.
        private var positions: [String: Int] = [:]

        public init() {}

        /// The members of a sequence; of a key that occurs twice, the last value counts, at the place of the first.
        public init(_ members: some Sequence<(String, JSON)>) {
            for (key, value) in members { self[key] = value }
        }

        /// Members whose keys are known to differ, and to be few enough to go without an index.
        init(distinct members: [Member]) {
            self.members = members
        }
    }
}

extension JSON.Object {
    /// The value of that key, if there is one; setting nil takes the member away.
    public subscript(key: String) -> JSON? {
        get { position(of: key).map { members[$0].value } }
        set {
            guard let newValue else {
                removeValue(forKey: key)
                return
            }
            self[adding: key] = newValue
        }
    }

    /// Takes the member of that key away and returns its value; the others keep their order, which takes time for each of them.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> JSON? {
        guard let position = position(of: key) else { return nil }
        defer { positions = members.count > Self.searchLimit ? Self.positions(of: members) : [:] }
        return members.remove(at: position).value
    }

    /// The value of that key for writing in place, added as `null` if there was none.
    subscript(adding key: String) -> JSON {
        get { self[key] ?? .null }
        _modify {
            let position = position(of: key) ?? append(key)
            yield &members[position].value
        }
    }

    private func position(of key: String) -> Int? {
        positions.isEmpty ? members.firstIndex { $0.key == key } : positions[key]
    }

    private mutating func append(_ key: String) -> Int {
        members.append(Member(key: key, value: .null))
        if !positions.isEmpty {
            positions[key] = members.count - 1
        } else if members.count > Self.searchLimit {
            positions = Self.positions(of: members)
        }
        return members.count - 1
    }

    private static func positions(of members: [Member]) -> [String: Int] {
        Dictionary(members.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { $1 })
    }
}

extension JSON.Object: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { members.count }

    public subscript(position: Int) -> Member {
        members[position]
    }
}

extension JSON.Object: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        JSON.object(left) == JSON.object(right)
    }

    public func hash(into hasher: inout Hasher) {
        JSON.object(self).hash(into: &hasher)
    }
}

extension JSON.Object: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements)
    }
}
