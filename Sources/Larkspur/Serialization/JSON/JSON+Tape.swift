extension JSON {
    /// Creates the value at the index of a tape. Recurses up to `maximumDepth`, which the tape's builder has checked.
    init(_ tape: JSONTape, at index: Int) {
        let node = tape.nodes[index]
        switch node.kind {
        case .null: self = .null
        case .no: self = .bool(false)
        case .yes: self = .bool(true)
        case .integer: self = .number(Number(Int64(bitPattern: node.extra)))
        case .double: self = .number(Number(Double(bitPattern: node.extra)))
        case .number: self = .number(Number(tape, at: index))
        case .plain, .unicode, .escaped: self = .string(tape.string(index))
        case .array: self = .array(Self.elements(tape, index, node))
        case .object: self = .object(Self.object(tape, index, node))
        }
    }

    private static func elements(_ tape: JSONTape, _ index: Int, _ node: JSONNode) -> [JSON] {
        [JSON](unsafeUninitializedCapacity: node.count) { elements, count in
            var element = index &+ 1
            while element < node.end, count < elements.count {
                elements.initializeElement(at: count, to: JSON(tape, at: element))
                count &+= 1
                element = tape.index(after: element)
            }
        }
    }

    private static func object(_ tape: JSONTape, _ index: Int, _ node: JSONNode) -> Object {
        let members = [Object.Member](unsafeUninitializedCapacity: node.count) { members, count in
            var key = index &+ 2
            while key < node.end, count < members.count {
                let member = Object.Member(key: tape.string(key), value: JSON(tape, at: key &+ 1))
                members.initializeElement(at: count, to: member)
                count &+= 1
                key = tape.index(after: key &+ 1)
            }
        }
        guard node.has(JSONNode.hasDuplicates) else { return Object(distinct: members) }
        return Object(members.map { ($0.key, $0.value) })
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
