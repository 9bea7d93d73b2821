extension JSONTapeBuilder {
    /// Parses a string, whose opening quotation mark is at `position`. The node's offset is that of the text.
    @inline(__always)
    mutating func string() throws(JSONError) -> JSONNode {
        position &+= 1
        let start = position
        skipPlainText()
        guard position < end, bytes[position] == UInt8(ascii: "\"") else { return try restOfString(from: start) }
        position &+= 1
        return JSONNode(.plain, at: start, UInt64(position &- 1 &- start))
    }

    /// Parses the rest of a string whose text begins at `start`. All bytes before `position` are plain text.
    @inline(never)
    private mutating func restOfString(from start: Int) throws(JSONError) -> JSONNode {
        var kind = JSONKind.plain
        while position < end {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position &+= 1
                return JSONNode(kind, at: start, UInt64(position - 1 - start))
            case UInt8(ascii: "\\"):
                kind = .escaped
                try escape()
            case 0x80...:
                if kind == .plain { kind = .unicode }
                guard let count = JSONEscapes.unicodeCount(bytes + position, end - position) else {
                    throw malformedUTF8(start)
                }
                position &+= count
            default: throw expected("control characters in strings to be escaped", .controlCharacter)
            }
            skipPlainText()
        }
        throw expected("the string's closing quotation mark")
    }

    /// Returns the error for bytes at `position` that are not UTF-8. A text that ends within a character is an
    /// unexpected end.
    private mutating func malformedUTF8(_ start: Int) -> JSONError {
        var last = position
        while last < end, bytes[last] >= 0x80 { last += 1 }
        if last < end { return expected("a string in UTF-8", .malformedUTF8, at: start - 1) }
        position = end
        return expected("the string's closing quotation mark")
    }

    /// Moves to the next byte that is not plain text: a quotation mark, a backslash, a control character or a byte
    /// beyond ASCII.
    @inline(__always)
    private mutating func skipPlainText() {
        // Tests eight bytes at a time. Each term of `found` sets the top bit of each byte that the term looks for. The
        // borrow of a subtraction can also set the top bit of the next higher byte, although that byte is plain. But a
        // borrow begins only at a byte that is not plain. So the lowest set bit always marks such a byte.
        let ones: UInt64 = 0x0101_0101_0101_0101
        while end &- position >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(bytes + position).loadUnaligned(as: UInt64.self))
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
        while position < end, case let byte = bytes[position], byte >= 0x20, byte < 0x80, byte != 0x22, byte != 0x5C {
            position &+= 1
        }
    }

    /// Parses an escape, whose backslash is at `position`.
    private mutating func escape() throws(JSONError) {
        position &+= 1
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position &+= 1
        case UInt8(ascii: "u"): try escapedScalar()
        default: throw expected("one of \"\\/bfnrtu after the backslash", .malformedEscape)
        }
    }

    /// Parses an escape from its `u` on: four hexadecimal digits, and for a surrogate pair a second such escape.
    private mutating func escapedScalar() throws(JSONError) {
        let start = position - 1
        let first = try hexadecimalUnit()
        if !UTF16.isSurrogate(first) { return }
        if UTF16.isLeadSurrogate(first), skip(UInt8(ascii: "\\")), current == UInt8(ascii: "u"),
            UTF16.isTrailSurrogate(try hexadecimalUnit())
        {
            return
        }
        throw expected("both halves of a surrogate pair", .loneSurrogate, at: position == end ? end : start)
    }

    /// Parses the four hexadecimal digits after the `u`, which is at `position`.
    private mutating func hexadecimalUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            position &+= 1
            guard let digit = JSONEscapes.hexadecimal(current) else {
                throw expected("four hexadecimal digits after \\u", .malformedEscape)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position &+= 1
        return unit
    }

    @inline(__always)
    mutating func number() throws(JSONError) -> JSONNode {
        let start = position
        let isNegative = skip(UInt8(ascii: "-"))
        var magnitude: UInt64 = 0
        let wholeDigits = try digits(&magnitude, "a digit")
        guard wholeDigits == 1 || bytes[position &- wholeDigits] != UInt8(ascii: "0") else {
            throw expected("a number without leading zeros", .malformedNumber, at: position - wholeDigits)
        }
        var fractionDigits = 0
        if skip(UInt8(ascii: ".")) { fractionDigits = try digits(&magnitude, "a digit after the decimal point") }
        // With more than 18 digits, `magnitude` may have overflowed.
        let isExact = wholeDigits &+ fractionDigits <= 18
        if current | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            if !skip(UInt8(ascii: "-")) { _ = skip(UInt8(ascii: "+")) }
            var exponent: UInt64 = 0
            _ = try digits(&exponent, "a digit in the exponent")
        } else if isExact, fractionDigits == 0, magnitude != 0 || !isNegative {
            let value = Int64(bitPattern: magnitude)
            return short(.integer, start, UInt64(bitPattern: isNegative ? -value : value))
        } else if isExact, magnitude < 1_000_000_000_000_000 {
            // `magnitude` and the power of ten are exact as `Double`, so their quotient is the `Double` nearest to the
            // number.
            var power = 1.0
            for _ in 0..<fractionDigits { power *= 10 }
            let value = Double(magnitude) / power
            return short(.double, start, (isNegative ? -value : value).bitPattern)
        }
        return JSONNode(.number, at: start, UInt64(position - start))
    }

    /// Returns the node of a number that ends at `position`. Its text is not empty and has at most 20 bytes.
    @inline(__always)
    private func short(_ kind: JSONKind, _ start: Int, _ value: UInt64) -> JSONNode {
        var node = JSONNode(kind, at: start, value)
        node.head |= UInt64(truncatingIfNeeded: position &- start) << 16
        return node
    }

    /// Parses one or more digits, appends them to the decimal number `value`, and returns their count.
    @inline(__always)
    private mutating func digits(_ value: inout UInt64, _ what: StaticString) throws(JSONError) -> Int {
        let start = position
        while position < end, case let digit = bytes[position] &- UInt8(ascii: "0"), digit <= 9 {
            value = value &* 10 &+ UInt64(digit)
            position &+= 1
        }
        guard position > start else { throw expected(what, .malformedNumber) }
        return position &- start
    }
}
