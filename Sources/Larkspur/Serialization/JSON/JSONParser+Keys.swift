extension JSONParser {
    /// The key of a member whose object is not complete.
    struct Key {
        let text: String
        /// The same for equal keys and seldom for others; 0 where only the texts can tell.
        let tag: UInt64
        let offset: Int
    }

    /// Reads a key and its colon.
    mutating func key(_ what: StaticString) throws(JSONError) {
        let offset = position
        guard skip(UInt8(ascii: "\"")) else { throw expected(what) }
        skipPlainText()
        if position < end, current == UInt8(ascii: "\"") {
            position += 1
            let range = offset + 1..<position - 1
            let key = String(decoding: UnsafeBufferPointer(rebasing: text[range]), as: UTF8.self)
            keys.push(Key(text: key, tag: tag(of: range), offset: offset))
        } else {
            keys.push(Key(text: try restOfString(from: offset + 1), tag: 0, offset: offset))
        }
        skipWhitespace()
        guard skip(UInt8(ascii: ":")) else { throw expected("\":\" after the key") }
    }

    /// A number made of a key's length and its first and last eight bytes.
    @inline(__always)
    private func tag(of key: Range<Int>) -> UInt64 {
        guard key.lowerBound + 8 <= end, let start = UnsafeRawPointer(text.baseAddress) else { return 0 }
        var first = UInt64(littleEndian: (start + key.lowerBound).loadUnaligned(as: UInt64.self))
        var last = UInt64(key.count)
        if key.count < 8 {
            first &= 1 << (8 * last) - 1
        } else {
            last &+= UInt64(littleEndian: (start + key.upperBound - 8).loadUnaligned(as: UInt64.self))
        }
        return first ^ last &* 0x9E37_79B9_7F4A_7C15
    }

    /// Whether two of the topmost keys may be equal: for certain if they are, seldom if not.
    func mayHaveDuplicates(from start: Int) -> Bool {
        for index in start..<keys.count {
            let tag = keys[index].tag
            guard tag != 0 else { return true }
            for earlier in start..<index where keys[earlier].tag == tag { return true }
        }
        return false
    }
}
