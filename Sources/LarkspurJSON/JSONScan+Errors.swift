extension JSONScan {
    /// Returns the coding path of a value. It is found by a walk from the root, because most values need none.
    ///
    /// The walk remembers the last child of each container. So the paths of all values of a document together cost one
    /// pass, if they are asked for in order.
    func path(to index: Int) -> [any CodingKey] {
        var path = prefix
        var (container, depth) = (0, 0)
        while container != index, nodes[container].kind.rawValue >= JSONKind.array.rawValue {
            let isObject = kind(container) == .object
            let place = place(of: index, in: container, depth, isObject)
            if isObject {
                let key = tape.string(place.child)
                let isRaw = !convertsKeys || state.pointee.dictionaries.contains(container)
                path.append(JSONKey(stringValue: isRaw ? key : convert(key, path: path)))
                container = place.child + 1
            } else {
                path.append(JSONKey(intValue: place.position))
                container = place.child
            }
            depth += 1
        }
        return path
    }

    /// Returns the child of a container that is a value or contains it. The child of an object is the key.
    private func place(of index: Int, in container: Int, _ depth: Int, _ isObject: Bool) -> Place {
        let first = container + (isObject ? 2 : 1)
        var place = Place(container: container, child: first, position: 0)
        if depth < state.pointee.places.count, case let last = state.pointee.places[depth],
            last.container == container, last.child <= index
        {
            place = last
        }
        let (tape, end) = (tape, nodes[container].end)
        while case let next = tape.index(after: isObject ? place.child + 1 : place.child), next <= index, next < end {
            place.child = next
            place.position += 1
        }
        if depth < state.pointee.places.count {
            state.pointee.places[depth] = place
        } else if depth == state.pointee.places.count {
            state.pointee.places.append(place)
        }
        return place
    }

    /// Returns the position of a value as part of an error's description, such as ` at line 3, column 14`.
    func position(of index: Int) -> String {
        guard textCount > 0 else { return "" }
        let bytes = state.pointee.bytes
        let hasMark = UnsafeBufferPointer(start: bytes, count: textCount).starts(with: ByteOrderMark.utf8)
        let first = hasMark ? ByteOrderMark.utf8.count : 0
        let isText = kind(index).isString
        let (line, column) = state.pointee.lines.locate(nodes[index].offset - (isText ? 1 : 0), in: bytes, from: first)
        return " at line \(line), column \(column)"
    }

    private func context(
        _ index: Int, _ description: String, _ error: (any Error)? = nil
    ) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: path(to: index), debugDescription: description + position(of: index), underlyingError: error)
    }

    @inline(never)
    func corrupted(_ index: Int, _ description: String, underlying: (any Error)? = nil) -> DecodingError {
        .dataCorrupted(context(index, description, underlying))
    }

    /// Returns the error for a value that has another type: `typeMismatch`, or `valueNotFound` for a null.
    ///
    /// - Parameter isNullMissing: Whether a null is `valueNotFound`. For a Boolean it is not, as in `JSONDecoder`.
    @inline(never)
    func mismatch(_ type: Any.Type, _ index: Int, isNullMissing: Bool = true) -> DecodingError {
        let expected = type == [String: Any].self ? "an object" : type == [Any].self ? "an array" : "\(type)"
        let context = context(index, "expected \(expected) but found \(kind(index).name)")
        return kind(index) == .null && isNullMissing ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    @inline(never)
    func unrepresentable(_ type: Any.Type, _ index: Int) -> DecodingError {
        let digits = tape.digits(index)
        let shown = String(decoding: digits.prefix(40), as: UTF8.self) + (digits.count > 40 ? "…" : "")
        return corrupted(index, "the number \(shown) does not fit in \(type)")
    }

    @inline(never)
    func keyNotFound(_ key: any CodingKey, in object: Int) -> DecodingError {
        .keyNotFound(key, context(object, "no value for \"\(key.stringValue)\" in the object"))
    }

    @inline(never)
    func atEnd(_ type: Any.Type, of array: Int, _ position: Int) -> DecodingError {
        .valueNotFound(
            type,
            DecodingError.Context(
                codingPath: path(to: array) + [JSONKey(intValue: position)],
                debugDescription: "the array has only \(position) elements" + self.position(of: array)))
    }
}

extension JSONKind {
    var isString: Bool { self == .plain || self == .unicode || self == .escaped }
    var isNumber: Bool { self == .integer || self == .double || self == .number }

    /// The name in error messages.
    var name: String {
        switch self {
        case .null: "null"
        case .no, .yes: "a Boolean"
        case .integer, .double, .number: "a number"
        case .plain, .unicode, .escaped: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
