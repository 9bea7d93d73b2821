extension JSONScan {
    /// Returns the index of the value that the key has in the object; nil if the key is missing.
    @inline(__always)
    func member(_ name: String, in object: Int) -> Int? {
        // Not `withUTF8`, which would copy the string to change it.
        if let found = name.utf8.withContiguousStorageIfAvailable({ member($0, in: object) }) ?? bridged(name, object) {
            return found
        }
        return memberEqual(name, in: object)
    }

    /// Searches for a key whose bytes are not contiguous.
    @inline(never)
    private func bridged(_ name: String, _ object: Int) -> Int? {
        var name = name
        return name.withUTF8 { member($0, in: object) }
    }

    /// Returns the index of the value that the key with these bytes has in the object; nil if there is none.
    ///
    /// A type usually asks for keys in the order of the document, so the next key is tried first. If the type skips
    /// keys, the first skipped key is tried too. The object's scratch node has both.
    @inline(__always)
    private func member(_ text: UnsafeBufferPointer<UInt8>, in object: Int) -> Int? {
        guard text.count > 0 else { return nil }
        let scratch = nodes + (object &+ 1)
        let tape = tape
        let next = scratch.pointee.expectedKey
        let expected = next == 0 ? object &+ 2 : next
        let end = nodes[object].end
        if expected < end, tape.key(expected, is: text) {
            scratch.pointee.expectedKey = tape.index(after: expected &+ 1)
            return expected &+ 1
        }
        return search(text, object, expected, end)
    }

    /// Searches for a key that is not the expected one.
    @inline(never)
    private func search(_ text: UnsafeBufferPointer<UInt8>, _ object: Int, _ expected: Int, _ end: Int) -> Int? {
        let scratch = nodes + (object &+ 1)
        let tape = tape
        let skipped = Int(truncatingIfNeeded: scratch.pointee.extra)
        if skipped > 0, skipped < end, tape.key(skipped, is: text) {
            scratch.pointee.extra = UInt64(truncatingIfNeeded: tape.index(after: skipped &+ 1))
            return skipped &+ 1
        }
        if expected < end, let key = tape.search(text, from: expected, to: end) {
            scratch.pointee.extra = UInt64(truncatingIfNeeded: expected)
            scratch.pointee.expectedKey = tape.index(after: key &+ 1)
            return key &+ 1
        }
        guard let key = tape.search(text, from: object &+ 2, to: min(expected, end)) else { return nil }
        return key &+ 1
    }

    /// Searches for a key whose bytes may differ although the strings are equal.
    @inline(never)
    private func memberEqual(_ name: String, in object: Int) -> Int? {
        guard
            name.isEmpty || nodes[object].has(JSONNode.hasUnusualKeys) || name.utf8.contains(where: { $0 >= 0x80 })
        else { return nil }
        return tape.searchEqual(name, in: object).map { $0 + 1 }
    }

    /// Calls the closure with the key and the index of each member's value. Members whose key occurs again later are
    /// left out.
    func forEachMember(of object: Int, _ body: (String, Int) -> Void) {
        let (tape, end) = (tape, nodes[object].end)
        var key = object + 2
        while key < end {
            if !nodes[key].has(JSONNode.isShadowed) { body(tape.string(key), key + 1) }
            key = tape.index(after: key + 1)
        }
    }

    /// Returns the key as the strategy converts it.
    func convert(_ key: String, path: @autoclosure () -> [any CodingKey]) -> String {
        switch options.keyDecodingStrategy {
        case .useDefaultKeys: key
        case .convertFromSnakeCase: JSONSnakeCase.camelCase(key)
        case .custom(let convert): convert(path() + [JSONKey(stringValue: key)]).stringValue
        @unknown default: key
        }
    }

    /// Returns the values of an object by converted key. If several keys become equal, the first counts. The keys of a
    /// dictionary stay as they are.
    func convertedMembers(of object: Int, isDictionary: Bool) -> [String: Int] {
        var members: [String: Int] = [:]
        members.reserveCapacity(nodes[object].count)
        lazy var path = path(to: object)
        forEachMember(of: object) { key, value in
            let name = isDictionary ? key : convert(key, path: path)
            if members[name] == nil { members[name] = value }
        }
        return members
    }
}

/// The conversion of keys such as `created_at` to `createdAt`.
enum JSONSnakeCase {
    /// Returns the key in camel case. Leading and trailing underscores stay.
    static func camelCase(_ key: String) -> String {
        guard key.utf8.contains(UInt8(ascii: "_")), let first = key.firstIndex(where: { $0 != "_" }),
            let last = key.lastIndex(where: { $0 != "_" })
        else { return key }
        let words = key[first...last].split(separator: "_")
        var result = String(key[..<first])
        if words.count == 1 {
            result += words[0]
        } else {
            result += words[0].lowercased()
            for word in words.dropFirst() { result += word.capitalized }
        }
        return result + key[key.index(after: last)...]
    }
}

extension JSONSnakeCase {
    /// Returns the key in snake case: `myURLProperty` becomes `my_url_property`. A word begins at an uppercase letter
    /// after another character, and at the last of several uppercase letters before a lowercase letter.
    static func snakeCase(_ key: String) -> String {
        let characters = Array(key)
        guard characters.count > 1 else { return key.lowercased() }
        var words: [ArraySlice<Character>] = []
        var start = 0
        var next = 1
        while let upper = characters[next...].firstIndex(where: \.isUppercase) {
            words.append(characters[start..<upper])
            start = upper
            guard let lower = characters[upper...].firstIndex(where: \.isLowercase) else { break }
            if lower > upper + 1 {
                words.append(characters[upper..<lower - 1])
                start = lower - 1
            }
            next = lower + 1
            if next >= characters.count { break }
        }
        words.append(characters[start...])
        return words.map { String($0).lowercased() }.joined(separator: "_")
    }
}
