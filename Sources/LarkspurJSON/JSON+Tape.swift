extension JSON {
    /// Creates the value at the index of a tape.
    ///
    /// - Parameter keepsDuplicates: Whether objects keep all members with equal keys.
    init(_ tape: JSONTape, at index: Int, keepsDuplicates: Bool = false) {
        // A scalar needs no table of shapes.
        guard tape.nodes[index].kind.rawValue >= JSONKind.array.rawValue else {
            self = tape.scalar(index)
            return
        }
        self = withUnsafeTemporaryAllocation(of: JSONTapeReader.Shape.self, capacity: JSONTapeReader.shapeCount) {
            memory in
            memory.initialize(repeating: JSONTapeReader.Shape())
            defer { memory.deinitialize() }
            return JSONTapeReader(tape: tape, shapes: memory, keepsDuplicates: keepsDuplicates).value(at: index)
        }
    }
}

/// Creates `JSON` values from a tape.
///
/// Most objects of a document have the same keys as another object of it. Such objects share their keys: the reader
/// compares the bytes of the keys with those of an earlier object, and creates no strings for them.
struct JSONTapeReader {
    /// An object that has been read, and its keys.
    struct Shape {
        var object = 0
        var keys = JSON.Object.Keys()
    }

    /// The number of shapes that are kept. The hash of its first key selects an object's place among them.
    static let shapeCount = 16

    let tape: JSONTape
    let shapes: UnsafeMutableBufferPointer<Shape>
    let keepsDuplicates: Bool

    /// Returns the value at the index. Recurses up to `JSON.maximumDepth`, which the tape's builder has checked.
    func value(at index: Int) -> JSON {
        switch tape.nodes[index].kind {
        case .array: .array(elements(index))
        case .object: .object(object(index))
        default: tape.scalar(index)
        }
    }

    private func elements(_ index: Int) -> [JSON] {
        let node = tape.nodes[index]
        var elements: [JSON] = []
        elements.reserveCapacity(node.count)
        var element = index &+ 1
        while element < node.end {
            elements.append(value(at: element))
            element = tape.index(after: element)
        }
        return elements
    }

    private func object(_ index: Int) -> JSON.Object {
        let node = tape.nodes[index]
        guard node.count > 0 else { return JSON.Object() }
        guard keepsDuplicates || !node.has(JSONNode.hasDuplicates) else { return distinct(index) }
        let first = tape.nodes[index &+ 2]
        let place = (Int(truncatingIfNeeded: first.extra >> 32) &+ node.count) % Self.shapeCount
        let model = shapes[place].object
        // The root never has an earlier object, so its index means that there is none.
        var isShared = model > 0 && tape.nodes[model].count == node.count
        var values: [JSON] = []
        values.reserveCapacity(node.count)
        var (key, modelKey) = (index &+ 2, model &+ 2)
        while key < node.end {
            if isShared {
                isShared = tape.haveSameText(key, modelKey)
                modelKey = tape.index(after: modelKey &+ 1)
            }
            values.append(value(at: key &+ 1))
            key = tape.index(after: key &+ 1)
        }
        // A nested object may have taken the place of the shape.
        if !isShared || shapes[place].object != model { shapes[place] = Shape(object: index, keys: keys(index)) }
        return JSON.Object(shapes[place].keys, values)
    }

    private func keys(_ index: Int) -> JSON.Object.Keys {
        let node = tape.nodes[index]
        var keys: [String] = []
        keys.reserveCapacity(node.count)
        var key = index &+ 2
        while key < node.end {
            keys.append(tape.string(key))
            key = tape.index(after: key &+ 1)
        }
        return JSON.Object.Keys(distinct: keys)
    }

    /// Returns an object in which a key occurs twice: the last value counts, at the position of the first occurrence.
    private func distinct(_ index: Int) -> JSON.Object {
        var members: JSON.Object = [:]
        var key = index + 2
        while key < tape.nodes[index].end {
            members[adding: tape.string(key)] = value(at: key + 1)
            key = tape.index(after: key + 1)
        }
        return members
    }
}

extension JSONTape {
    /// Returns a value that is neither an array nor an object.
    @inline(__always)
    fileprivate func scalar(_ index: Int) -> JSON {
        let node = nodes[index]
        switch node.kind {
        case .null, .array, .object: return .null
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .integer: return .number(JSON.Number(Int64(bitPattern: node.extra)))
        case .double: return .number(JSON.Number(Double(bitPattern: node.extra)))
        case .number: return .number(JSON.Number(self, at: index))
        case .plain, .unicode, .escaped: return .string(string(index))
        }
    }

    /// Returns whether two keys have the same bytes.
    @inline(__always)
    fileprivate func haveSameText(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (nodes[left], nodes[right])
        // These are the lengths and the hashes.
        guard left.extra == right.extra else { return false }
        return JSONKeyHash.areEqual(bytes + left.offset, bytes + right.offset, left.length)
    }
}

extension JSON.Number {
    /// Creates a number that needs its text: one with an exponent, with many digits, or a negative zero.
    @inline(never)
    fileprivate init(_ tape: JSONTape, at index: Int) {
        let text = tape.digits(index)
        let isInteger = !text.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter { $0 &- UInt8(ascii: "0") <= 9 }
        let isShort = mantissa.drop { $0 == UInt8(ascii: "0") }.count <= 15 && mantissa.count <= 18
        self.init(checked: String(decoding: text, as: UTF8.self), isInteger: isInteger, isShort: isShort)
    }
}
