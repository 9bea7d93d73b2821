extension JSON {
    /// The members of an object in order. Each key occurs once, except in a value that was parsed to be shown
    /// (`init(keepingDuplicatesOf:)`).
    ///
    /// Keys are Swift strings: canonically equivalent spellings, such as `é` composed or decomposed, are one key.
    public struct Object: Sendable {
        private var keys = Keys()
        private var values: [JSON] = []

        /// Creates an object. A duplicate key keeps the position of its first occurrence, and gets its last value.
        public init(_ members: some Sequence<(String, JSON)>) {
            for (key, value) in members { self[adding: key] = value }
        }

        init() {}

        /// Creates an object with as many values as keys.
        init(_ keys: Keys, _ values: [JSON]) { (self.keys, self.values) = (keys, values) }
    }
}

extension JSON.Object {
    /// The value of the key; nil if the key is missing.
    public subscript(key: String) -> JSON? { keys.position(of: key).map { values[$0] } }

    /// The value of the key, to change in place. If the key is missing, a member with the value `null` is added first.
    package subscript(adding key: String) -> JSON {
        get { self[key] ?? .null }
        _modify {
            let position = keys.position(of: key) ?? count
            if position == count {
                keys.append(key)
                values.append(.null)
            }
            yield &values[position]
        }
    }

    /// Returns an object with the same keys and other values, which are in the order of the keys.
    package func with(_ values: [JSON]) -> Self { Self(keys, values) }

    mutating func removeValue(forKey key: String) -> JSON? {
        guard let position = keys.position(of: key) else { return nil }
        keys.remove(at: position)
        return values.remove(at: position)
    }

    /// Returns the object with its values changed by the closure, without those for which it returns nil.
    func compactMapValues(_ transform: (JSON) -> JSON?) -> Self {
        var result = JSON.Object()
        for (key, value) in self {
            guard let value = transform(value) else { continue }
            result.keys.append(key)
            result.values.append(value)
        }
        return result
    }
}

extension JSON.Object: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { values.count }

    public subscript(position: Int) -> (key: String, value: JSON) { (keys[position], values[position]) }
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

extension JSON.Object {
    /// The keys of an object in order. Each occurs once, except in a value that was parsed to be shown.
    ///
    /// Objects with the same keys can share them, because they are copied only when one of the objects changes. The
    /// keys have one word in an object, which keeps all `JSON` values small.
    struct Keys: Sendable {
        /// The maximum number of keys among which a key is searched linearly. Most objects are small, and for a small
        /// object an index by hash costs more than a linear search.
        static let searchLimit = 16

        private struct Index: Sendable {
            var keys: [String]
            var positions: [String: Int]

            init(_ keys: [String]) {
                self.keys = keys
                positions = [:]
                positions.reserveCapacity(keys.count)
                for (position, key) in keys.enumerated() { positions[key] = position }
            }
        }

        private enum Storage: Sendable {
            /// At most `searchLimit` keys.
            case few([String])
            /// More keys. The array has one element: it gives the index value semantics and the size of one word.
            case many([Index])
        }

        private var storage = Storage.few([])

        init() {}

        /// Creates keys from strings of which no two are equal.
        init(distinct keys: [String]) {
            storage = keys.count <= Self.searchLimit ? .few(keys) : .many([Index(keys)])
        }

        subscript(position: Int) -> String {
            switch storage {
            case .few(let keys): keys[position]
            case .many(let index): index[0].keys[position]
            }
        }

        func position(of key: String) -> Int? {
            switch storage {
            case .few(let keys): keys.firstIndex(of: key)
            case .many(let index): index[0].positions[key]
            }
        }

        /// Appends a key that is not yet there.
        mutating func append(_ key: String) {
            // Each case takes its array out of the storage, so that it is changed in place.
            switch storage {
            case .few(var keys):
                storage = .few([])
                keys.append(key)
                self = Keys(distinct: keys)
            case .many(var index):
                storage = .few([])
                index[0].positions[key] = index[0].keys.count
                index[0].keys.append(key)
                storage = .many(index)
            }
        }

        mutating func remove(at position: Int) {
            switch storage {
            case .few(var keys):
                storage = .few([])
                keys.remove(at: position)
                storage = .few(keys)
            case .many(let index):
                var keys = index[0].keys
                keys.remove(at: position)
                self = Keys(distinct: keys)
            }
        }
    }
}
