extension JSONParser {
    /// Parses a string, whose opening quotation mark is at `position`.
    @inline(__always)
    mutating func string() throws(JSONError) -> String {
        position &+= 1
        let start = position
        skipPlainText()
        isPlain = position < end && current == UInt8(ascii: "\"")
        guard isPlain else { return try restOfString(from: start) }
        position &+= 1
        return String(decoding: UnsafeBufferPointer(rebasing: text[start..<position - 1]), as: UTF8.self)
    }

    /// Parses the rest of a string whose text begins at `start`. All bytes before `position` are plain text. The byte
    /// at `position` is a backslash, a control character or a byte beyond ASCII, or the input ends there.
    @inline(never)
    private mutating func restOfString(from start: Int) throws(JSONError) -> String {
        unescaped.removeAll(keepingCapacity: true)
        var pending = start
        while position < end {
            switch current {
            case UInt8(ascii: "\""):
                unescaped.append(contentsOf: UnsafeBufferPointer(rebasing: text[pending..<position]))
                position &+= 1
                var string = String(decoding: unescaped, as: UTF8.self)
                // Decoding replaces invalid UTF-8 with U+FFFD. So if the decoded text differs from the bytes, the bytes
                // are not UTF-8.
                let isIntact = string.withUTF8 { utf8 in
                    utf8.count == unescaped.count && utf8.baseAddress.map { memcmp($0, unescaped, utf8.count) } == 0
                }
                guard isIntact else { throw expected("a string in UTF-8", .malformedUTF8, at: start - 1) }
                return string
            case UInt8(ascii: "\\"):
                unescaped.append(contentsOf: UnsafeBufferPointer(rebasing: text[pending..<position]))
                try escape()
                pending = position
            case 0x80...: while position < end, current >= 0x80 { position &+= 1 }
            default: throw expected("control characters in strings to be escaped", .controlCharacter)
            }
            skipPlainText()
        }
        throw expected("the string's closing quotation mark")
    }

    /// Moves to the next byte that is not plain text: a quotation mark, a backslash, a control character or a byte
    /// beyond ASCII.
    @inline(__always)
    private mutating func skipPlainText() {
        // Tests eight bytes at a time. Each term of `found` sets the top bit of each byte that the term looks for. The
        // borrow of a subtraction can also set the top bit of the next higher byte, although that byte is plain. But a
        // borrow begins only at a byte that is not plain. So the lowest set bit always marks such a byte.
        let ones: UInt64 = 0x0101_0101_0101_0101
        while let start = UnsafeRawPointer(text.baseAddress), end - position >= 8 {
            let word = UInt64(littleEndian: (start + position).loadUnaligned(as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            let controls = (word &- (ones &* 0x20)) & ~word
            let found = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | controls | word
            let stops = found & (ones &* 0x80)
            guard stops == 0 else {
                position &+= stops.trailingZeroBitCount >> 3
                return
            }
            position &+= 8
        }
        while position < end, (0x20..<0x80).contains(current), current != 0x22, current != 0x5C { position &+= 1 }
    }

    /// Parses an escape, whose backslash is at `position`, and appends its character to `unescaped`.
    private mutating func escape() throws(JSONError) {
        position &+= 1
        switch position < end ? current : 0 {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(current)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): return try escapedScalar()
        default: throw expected("one of \"\\/bfnrtu after the backslash", .malformedEscape)
        }
        position &+= 1
    }

    /// Parses an escape from its `u` on: four hexadecimal digits, and for a surrogate pair a second such escape.
    /// Appends the character to `unescaped`.
    private mutating func escapedScalar() throws(JSONError) {
        let start = position - 1
        let first = try hexadecimalUnit()
        var scalar = Unicode.Scalar(first)
        if UTF16.isLeadSurrogate(first), skip(UInt8(ascii: "\\")), position < end, current == UInt8(ascii: "u"),
            case let second = try hexadecimalUnit(), UTF16.isTrailSurrogate(second)
        {
            scalar = UTF16.decode(UTF16.EncodedScalar([first, second]))
        }
        guard let scalar, let utf8 = UTF8.encode(scalar) else {
            throw expected("both halves of a surrogate pair", .loneSurrogate, at: position == end ? end : start)
        }
        unescaped.append(contentsOf: utf8)
    }

    /// Parses the four hexadecimal digits after the `u`, which is at `position`.
    private mutating func hexadecimalUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            position &+= 1
            let byte = position < end ? current : 0
            let letter = (byte | 0x20) &- UInt8(ascii: "a")
            let digit = letter < 6 ? letter + 10 : byte &- UInt8(ascii: "0")
            guard letter < 6 || digit < 10 else {
                throw expected("four hexadecimal digits after \\u", .malformedEscape)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position &+= 1
        return unit
    }
}
