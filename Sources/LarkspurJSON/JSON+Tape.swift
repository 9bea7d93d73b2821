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
/// Most objects of a document have the same keys as another object of it. The parser has given them the same shape.
/// Such objects share their keys: the reader creates no strings for them.
struct JSONTapeReader {
    /// The keys of the objects with a shape.
    struct Shape {
        /// The number of the shape; 0 if there is none.
        var number = 0
        var keys = JSON.Object.Keys()
    }

    /// The number of shapes that are kept. The number of a shape selects its place among them.
    static let shapeCount = 16

    let tape: JSONTape
    let shapes: UnsafeMutableBufferPointer<Shape>
    let keepsDuplicates: Bool

    /// The values of an array or an object. An array is made of this sequence, and not by
    /// `init(unsafeUninitializedCapacity:)`: the compiler does not specialize that, which would cost a search for the
    /// type of each array's memory.
    private struct Values: Sequence, IteratorProtocol {
        let reader: JSONTapeReader
        var index: Int
        /// The number of nodes before each value: 1 in an object, for the key.
        let keys: Int
        var underestimatedCount: Int

        @inline(__always)
        mutating func next() -> JSON? {
            guard underestimatedCount > 0 else { return nil }
            underestimatedCount &-= 1
            let value = index &+ keys
            let node = reader.tape.nodes[value]
            switch node.kind {
            case .array:
                index = node.end
                return .array(reader.elements(value))
            case .object:
                index = node.end
                return .object(reader.object(value))
            default:
                index = value &+ 1
                return reader.tape.scalar(value)
            }
        }
    }

    /// Returns the value at the index. Recurses up to `JSON.maximumDepth`, which the parser has checked.
    func value(at index: Int) -> JSON {
        switch tape.nodes[index].kind {
        case .array: .array(elements(index))
        case .object: .object(object(index))
        default: tape.scalar(index)
        }
    }

    private func elements(_ index: Int) -> [JSON] {
        Array(Values(reader: self, index: index &+ 1, keys: 0, underestimatedCount: tape.nodes[index].count))
    }

    private func object(_ index: Int) -> JSON.Object {
        let node = tape.nodes[index]
        guard node.count > 0 else { return JSON.Object() }
        guard keepsDuplicates || !node.has(JSONNode.hasDuplicates) else { return distinct(index) }
        let values = Array(Values(reader: self, index: index &+ 2, keys: 1, underestimatedCount: node.count))
        return JSON.Object(keys(of: index), values)
    }

    /// Returns the keys of an object, which are those of an earlier object of the same shape.
    private func keys(of index: Int) -> JSON.Object.Keys {
        let shape = tape.nodes[index &+ 1].shape
        guard shape > 0 else { return newKeys(of: index) }
        let place = shape % Self.shapeCount
        if shapes[place].number != shape { shapes[place] = Shape(number: shape, keys: newKeys(of: index)) }
        return shapes[place].keys
    }

    private func newKeys(of index: Int) -> JSON.Object.Keys {
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
