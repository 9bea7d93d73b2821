/// JSON values need no tree, because all their members are known. They are written directly.
extension FormWriter {
    /// Writes the members of the outermost object.
    mutating func write(_ members: JSON.Object) throws(RequestError) { try write(members, at: nil, depth: 1) }

    /// Writes the members of an object, at the key of the object or, if it is the outermost one, at their own keys.
    ///
    /// - Parameter depth: The number of arrays and objects around the members.
    private mutating func write(_ members: JSON.Object, at parent: String?, depth: Int) throws(RequestError) {
        guard options.alphabetizeKeyValuePairs else {
            for (key, value) in members { try write(value, at: path(parent, keyed(key)), depth: depth) }
            return
        }
        let named = members.map { (key: keyed($0.key), value: $0.value) }
        for (key, value) in named.sorted(by: { $0.key < $1.key }) {
            try write(value, at: path(parent, key), depth: depth)
        }
    }

    private mutating func write(_ json: JSON, at key: String, depth: Int) throws(RequestError) {
        switch json {
        case .string(let text): writePair(key, text)
        case .number(let number): writePair(key, number.description)
        case .null, .bool: if case .text(let text)? = json.formValue(options) { writePair(key, text) }
        case .array, .object:
            guard depth < URLEncodedFormEncoder.maximumDepth else { throw FormNode.tooDeep }
            if let members = json.object { return try write(members, at: key, depth: depth + 1) }
            for (index, element) in (json.array ?? []).enumerated() {
                try write(element, at: options.arrayEncoding.key(key, index), depth: depth + 1)
            }
        }
    }

    private func keyed(_ key: String) -> String { options.keyEncoding.encode(key) }

    private func path(_ parent: String?, _ key: String) -> String {
        parent.map { options.keyPathEncoding.path($0, key) } ?? key
    }
}
