extension JSON {
    /// The members of an object in order. Each key occurs once.
    ///
    /// Keys are Swift strings: canonically equivalent spellings, such as `é` composed or decomposed, are one key.
    public struct Object: Sendable {
        struct Member {
            let key: String
            var value: JSON
        }

        /// The maximum number of members among which a key is searched linearly. Most objects are small, and for a
        /// small object an index by hash costs more than a linear search.
        static let searchLimit = 16

        private var members: [Member] = []
        /// The index in `members` of each key; empty while there are at most `searchLimit` members.
        private var positions: [String: Int] = [:]

        /// Creates an object. A duplicate key keeps the position of its first occurrence, and gets its last value.
        public init(_ members: some Sequence<(String, JSON)>) {
            for (key, value) in members { self[adding: key] = value }
        }

        init(distinct members: [Member]) {
            self.members = members
            indexMembers()
        }
    }
}

extension JSON.Object {
    /// The value of the key; nil if the key is missing.
    public subscript(key: String) -> JSON? { position(of: key).map { members[$0].value } }

    /// The value of the key, to change in place. If the key is missing, a member with the value `null` is added first.
    subscript(adding key: String) -> JSON {
        get { self[key] ?? .null }
        _modify {
            let position = position(of: key) ?? count
            if position == count {
                members.append(Member(key: key, value: .null))
                indexMembers()
            }
            yield &members[position].value
        }
    }

    mutating func removeValue(forKey key: String) -> JSON? {
        guard let position = position(of: key) else { return nil }
        positions = [:]
        defer { indexMembers() }
        return members.remove(at: position).value
    }

    private func position(of key: String) -> Int? {
        positions.isEmpty ? members.firstIndex { $0.key == key } : positions[key]
    }

    /// Adds the last member to `positions`, or all members if `positions` is empty. Does nothing for at most
    /// `searchLimit` members.
    private mutating func indexMembers() {
        guard count > Self.searchLimit else { return }
        for position in (positions.isEmpty ? 0 : count - 1)..<count { positions[members[position].key] = position }
    }
}

extension JSON.Object: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { members.count }

    public subscript(position: Int) -> (key: String, value: JSON) {
        (members[position].key, members[position].value)
    }
}

extension JSON.Object: Hashable, ExpressibleByDictionaryLiteral {
    public static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.key] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        // Each member is hashed separately, and the hashes are combined by XOR, so that the order does not matter.
        var sum = 0
        for (key, value) in self {
            var memberHasher = hasher
            memberHasher.combine(key)
            memberHasher.combine(value)
            sum ^= memberHasher.finalize()
        }
        hasher.combine(sum)
    }

    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
}
