/// A reader that returns one DER value (X.690) after another. The reader copies no bytes, and checks every length
/// before it uses the value.
struct DERReader {
    struct Malformed: Error {}

    struct Value {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        /// The whole value, with its tag and length.
        let encoded: ArraySlice<UInt8>

        var reader: DERReader { DERReader(content) }
    }

    enum Tag {
        static let boolean: UInt8 = 0x01
        static let octets: UInt8 = 0x04
        static let object: UInt8 = 0x06
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let bmp: UInt8 = 0x1E
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        /// Returns a constructed, context-specific tag: `[number]`.
        static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next() throws(Malformed) -> Value {
        let whole = rest
        guard let tag = rest.popFirst(), tag & 0x1F != 0x1F, let first = rest.popFirst() else { throw Malformed() }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), rest.count >= count else { throw Malformed() }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard length <= rest.count else { throw Malformed() }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Value(tag: tag, content: content, encoded: whole[..<content.endIndex])
    }

    mutating func next(_ tag: UInt8) throws(Malformed) -> Value {
        let value = try next()
        guard value.tag == tag else { throw Malformed() }
        return value
    }

    mutating func nextIf(_ tag: UInt8) throws(Malformed) -> Value? {
        rest.first == tag ? try next() : nil
    }
}
