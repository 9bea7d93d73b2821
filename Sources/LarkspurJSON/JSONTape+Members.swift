internal import CLarkspur

/// A fast hash of keys. A server can choose keys with equal hashes, so a hash only saves comparisons: no structure
/// depends on it.
enum JSONKeyHash {
    @inline(__always)
    static func hash(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt32 { clarkspur_json_hash(bytes, count) }

    /// Returns whether two texts of this length have the same bytes.
    @inline(__always)
    static func areEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        clarkspur_json_are_equal(left, right, count)
    }
}

extension JSONTape {
    /// The maximum number of members whose keys are compared in pairs to find duplicates.
    private static var pairLimit: Int { 32 }

    /// Marks keys of an object that occur again, and returns the second occurrence of the first duplicate key; nil if
    /// there are no duplicates.
    func markDuplicates(in object: Int) -> Int? {
        let node = nodes[object]
        let repeated =
            node.count <= Self.pairLimit && !node.has(JSONNode.hasUnusualKeys)
            ? markPairs(in: object, node) : markByIndex(in: object, node)
        if repeated != nil { nodes[object].head |= JSONNode.hasDuplicates }
        return repeated
    }

    private func markPairs(in object: Int, _ node: JSONNode) -> Int? {
        var repeated: Int?
        withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.pairLimit) { keys in
            var (count, key) = (0, object + 2)
            while key < node.end, count < keys.count {
                let new = nodes[key]
                for index in 0..<count where nodes[keys[index]].extra == new.extra {
                    let old = nodes[keys[index]]
                    guard memcmp(bytes + old.offset, bytes + new.offset, new.length) == 0 else { continue }
                    nodes[keys[index]].head |= JSONNode.isShadowed
                    repeated = repeated ?? key
                }
                keys[count] = key
                count += 1
                key = index(after: key + 1)
            }
        }
        return repeated
    }

    /// Uses a dictionary of strings, whose hashes a server cannot predict.
    private func markByIndex(in object: Int, _ node: JSONNode) -> Int? {
        var repeated: Int?
        var last: [String: Int] = [:]
        last.reserveCapacity(node.count)
        var key = object + 2
        while key < node.end {
            if let old = last.updateValue(key, forKey: string(key)) {
                nodes[old].head |= JSONNode.isShadowed
                repeated = repeated ?? key
            }
            key = index(after: key + 1)
        }
        return repeated
    }

    /// Returns whether the key has these bytes and counts.
    @inline(__always)
    func key(_ key: Int, is text: UnsafeBufferPointer<UInt8>) -> Bool {
        let node = nodes[key]
        guard node.length == text.count, !node.has(JSONNode.isShadowed), let start = text.baseAddress else {
            return false
        }
        return JSONKeyHash.areEqual(bytes + node.offset, start, text.count)
    }

    /// Returns the index of the key node with this text among the keys from `first` up to `end`; nil if none has it.
    func search(_ text: UnsafeBufferPointer<UInt8>, from first: Int, to end: Int) -> Int? {
        guard let start = text.baseAddress else { return nil }
        let wanted = UInt64(text.count) | UInt64(JSONKeyHash.hash(start, text.count)) << 32
        var key = first
        while key < end {
            if nodes[key].extra == wanted, self.key(key, is: text) { return key }
            key = index(after: key &+ 1)
        }
        return nil
    }

    /// Returns the index of the key node that equals the string, as Swift compares strings.
    @inline(never)
    func searchEqual(_ wanted: String, in object: Int) -> Int? {
        let end = nodes[object].end
        var key = object + 2
        while key < end {
            if !nodes[key].has(JSONNode.isShadowed), string(key) == wanted { return key }
            key = index(after: key + 1)
        }
        return nil
    }

    /// Returns the index of the value that the key has in the object; nil if the key is missing.
    func find(_ wanted: String, in object: Int) -> Int? {
        let node = nodes[object]
        var wanted = wanted
        let found = wanted.withUTF8 { text -> Int? in
            // An empty key has no bytes to compare.
            guard text.count > 0, let key = search(text, from: object + 2, to: node.end) else { return nil }
            return key + 1
        }
        if let found { return found }
        guard wanted.isEmpty || node.has(JSONNode.hasUnusualKeys) || wanted.utf8.contains(where: { $0 >= 0x80 })
        else { return nil }
        return searchEqual(wanted, in: object).map { $0 + 1 }
    }
}
