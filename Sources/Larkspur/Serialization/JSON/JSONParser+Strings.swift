extension JSONParser {
    /// Reads a string, from behind its opening quotation mark to behind its closing one.
    @inline(__always)
    mutating func string() throws(JSONError) -> String {
        let start = position
        skipPlainText()
        guard position < end, current == UInt8(ascii: "\"") else { return try restOfString(from: start) }
        position &+= 1
        return String(decoding: UnsafeBufferPointer(rebasing: text[start..<position - 1]), as: UTF8.self)
    }

    /// Goes on with a string that began at `start`, at its first byte that is not plain.
    @inline(never)
    mutating func restOfString(from start: Int) throws(JSONError) -> String {
        unescaped.removeAll(keepingCapacity: true)
        var pending = start
        while position < end {
            switch current {
            case UInt8(ascii: "\""):
                unescaped.append(contentsOf: UnsafeBufferPointer(rebasing: text[pending..<position]))
                position &+= 1
                return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                unescaped.append(contentsOf: UnsafeBufferPointer(rebasing: text[pending..<position]))
                try escape()
                pending = position
            case 0x80...:
                while position < end, current >= 0x80 { try characterBeyondASCII() }
            default:
                throw expected("control characters in strings to be escaped", .controlCharacter)
            }
            skipPlainText()
        }
        throw expected("the string's closing quotation mark")
    }

    /// Goes on to the next byte that is not plain text: a quotation mark, a backslash, a control or beyond ASCII.
    @inline(__always)
    mutating func skipPlainText() {
        // Eight bytes at a time. Each term leaves the top bit set in the bytes that it looks for. A borrow can set it in
        // the byte above one of those by mistake, but never below: the lowest bit set is right.
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
        while position < end, current >= 0x20, current < 0x80, current != UInt8(ascii: "\""),
            current != UInt8(ascii: "\\")
        {
            position &+= 1
        }
    }

    /// Goes past one character of two to four bytes, which must be well formed: the shortest form of a Unicode scalar.
    private mutating func characterBeyondASCII() throws(JSONError) {
        // The range of the second byte rules out long forms, surrogates and anything past U+10FFFF.
        let length: Int
        var allowed: ClosedRange<UInt8> = 0x80...0xBF
        switch current {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF:
            length = 3
            if current == 0xE0 { allowed = 0xA0...0xBF }
            if current == 0xED { allowed = 0x80...0x9F }
        case 0xF0...0xF4:
            length = 4
            if current == 0xF0 { allowed = 0x90...0xBF }
            if current == 0xF4 { allowed = 0x80...0x8F }
        default:
            throw expected("text in UTF-8", .malformedUTF8)
        }
        for index in 1..<length {
            guard position + index < end, allowed.contains(text[position + index]) else {
                throw expected("text in UTF-8", .malformedUTF8, at: min(position + index, end))
            }
            allowed = 0x80...0xBF
        }
        position &+= length
    }
}

// MARK: - Escapes

extension JSONParser {
    /// Reads an escape, beginning at its backslash, and appends what it stands for to `unescaped`.
    private mutating func escape() throws(JSONError) {
        position &+= 1
        guard position < end else { throw expected("the rest of an escape") }
        let byte: UInt8
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte = current
        case UInt8(ascii: "b"): byte = 0x08
        case UInt8(ascii: "f"): byte = 0x0C
        case UInt8(ascii: "n"): byte = 0x0A
        case UInt8(ascii: "r"): byte = 0x0D
        case UInt8(ascii: "t"): byte = 0x09
        case UInt8(ascii: "u"):
            unescaped.append(contentsOf: UTF8.encode(try escapedScalar()) ?? UTF8.encodedReplacementCharacter)
            return
        default:
            throw expected("one of \"\\/bfnrtu after the backslash", .malformedEscape)
        }
        unescaped.append(byte)
        position &+= 1
    }

    /// Reads `u` and four digits, twice for a character beyond the basic plane.
    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let start = position - 1
        let first = try hexadecimalUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first) else {
            throw expected("a high surrogate before this low one", .loneSurrogate, at: start)
        }
        let what: StaticString = "the escape of a low surrogate after this high one"
        guard skip(UInt8(ascii: "\\")), position < end, current == UInt8(ascii: "u") else {
            throw expected(what, .loneSurrogate, at: isAtEnd ? end : start)
        }
        let second = try hexadecimalUnit()
        guard UTF16.isTrailSurrogate(second) else { throw expected(what, .loneSurrogate, at: start) }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    /// Reads the four digits that follow the `u` at `position`.
    private mutating func hexadecimalUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            position &+= 1
            let byte = position < end ? current : 0
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw expected("four hexadecimal digits after \\u", .malformedEscape)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position &+= 1
        return unit
    }
}
