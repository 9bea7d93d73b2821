/// A parser of one JSON document in UTF-8. The parser compares each position with `end` before it reads the byte there,
/// so it never reads beyond the text.
struct JSONParser {
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    let text: UnsafeBufferPointer<UInt8>
    let duplicateKeys: JSON.DuplicateKeyPolicy

    var position = 0
    var depth = 0
    /// Whether the last string was ASCII without escapes.
    var isPlain = true
    /// The decoded text of the current string if it has escapes. It is a property, so that later strings reuse its
    /// storage.
    var unescaped: [UInt8] = []

    var usual = UsualCounts()

    var end: Int { text.count }
    /// The byte at `position`, which must be less than `end`.
    var current: UInt8 { text[position] }

    mutating func document() throws(JSONError) -> JSON {
        if text.starts(with: Self.byteOrderMark) { position = Self.byteOrderMark.count }
        let value = try value()
        skipWhitespace()
        guard position == end else { throw expected("the end of the text after the value") }
        return value
    }

    // Never inlined: errors are rare, and their code would displace the hot path from the instruction cache.
    @inline(never)
    func expected(
        _ what: StaticString, _ reason: JSONError.Reason = .unexpectedCharacter, at offset: Int? = nil
    ) -> JSONError {
        JSONError(reason, at: offset ?? position, of: text, expected: what.description)
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while position < end, current == 0x20 || current == 0x0A || current == 0x0D || current == 0x09 {
            position &+= 1
        }
    }

    @inline(__always)
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < end, current == byte else { return false }
        position &+= 1
        return true
    }

    // In debug builds, each case and each error of a function makes its stack frame larger. So the recursive functions
    // `value`, `array` and `object` leave all other work to other functions.
    private mutating func value() throws(JSONError) -> JSON {
        skipWhitespace()
        switch position < end ? current : 0 {
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "{"): return try object()
        default: return try scalar()
        }
    }

    private mutating func array() throws(JSONError) -> JSON {
        var elements: [JSON] = []
        guard try open("]") else { return .array(elements) }
        elements.reserveCapacity(usual.elements[depth])
        repeat { elements.append(try value()) } while try goesOn("]", "\",\" or \"]\" after the element")
        usual.elements[depth + 1] = min(elements.count, UsualCounts.limit)
        return .array(elements)
    }

    private mutating func object() throws(JSONError) -> JSON {
        var keys = Keys()
        var members: [JSON.Object.Member] = []
        guard try open("}") else { return .object([:]) }
        members.reserveCapacity(usual.members[depth])
        repeat {
            let key = try key(&keys, members)
            members.append(JSON.Object.Member(key: key, value: try value()))
        } while try goesOn("}", "\",\" or \"}\" after the member")
        usual.members[depth + 1] = min(members.count, UsualCounts.limit)
        guard keys.mayRepeat else { return .object(JSON.Object(distinct: members)) }
        return .object(JSON.Object(members.map { ($0.key, $0.value) }))
    }

    /// Skips an opening bracket. If the closing bracket follows directly, skips that bracket too and returns false.
    private mutating func open(_ closing: Unicode.Scalar) throws(JSONError) -> Bool {
        guard depth < JSON.maximumDepth else {
            throw expected("a lower nesting of arrays and objects; see JSON.maximumDepth", .tooDeep)
        }
        position &+= 1
        skipWhitespace()
        if skip(UInt8(ascii: closing)) { return false }
        depth += 1
        return true
    }

    /// Skips a comma and returns true, or skips the closing bracket and returns false.
    private mutating func goesOn(_ closing: Unicode.Scalar, _ what: StaticString) throws(JSONError) -> Bool {
        skipWhitespace()
        if skip(UInt8(ascii: ",")) { return true }
        guard skip(UInt8(ascii: closing)) else { throw expected(what) }
        depth -= 1
        return false
    }

    /// The sizes of the last array and object at each depth. Neighbouring arrays or objects often have equal sizes, so
    /// the parser reserves this size for the next array or object of the same depth.
    struct UsualCounts {
        static let limit = 16
        var elements = Array(repeating: 4, count: JSON.maximumDepth + 1)
        var members = Array(repeating: 4, count: JSON.maximumDepth + 1)
    }

    private struct Keys {
        /// The bits that the keys' hashes select. If the bit of a key is not set yet, the key is new, and no search is
        /// needed.
        var tags: UInt64 = 0
        var mayRepeat = false
        /// The keys themselves, if duplicate keys are not allowed.
        var unique: Set<String> = []
    }

    private mutating func key(_ keys: inout Keys, _ members: [JSON.Object.Member]) throws(JSONError) -> String {
        skipWhitespace()
        let start = position
        guard start < end, current == UInt8(ascii: "\"") else { throw expected("a key in quotation marks") }
        let key = try string()
        if duplicateKeys == .refuse, !keys.unique.insert(key).inserted {
            throw expected("each key of an object once", .duplicateKey, at: start)
        }
        let ends = UInt64(text[start + 1]) &* 7 &+ UInt64(text[position - 2]) &* 31 &+ UInt64(position - start)
        let tag = isPlain ? 1 << (ends & 63) : UInt64.max
        if keys.tags & tag != 0, !keys.mayRepeat {
            keys.mayRepeat = members.count > JSON.Object.searchLimit || members.contains { $0.key == key }
        }
        keys.tags |= tag
        skipWhitespace()
        guard skip(UInt8(ascii: ":")) else { throw expected("\":\" after the key") }
        return key
    }

    private mutating func scalar() throws(JSONError) -> JSON {
        switch position < end ? current : 0 {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "t"): return try word("true", .bool(true), "the value true")
        case UInt8(ascii: "f"): return try word("false", .bool(false), "the value false")
        case UInt8(ascii: "n"): return try word("null", .null, "the value null")
        default: throw expected("a value")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON, _ what: StaticString) throws(JSONError) -> JSON {
        for index in 0..<word.utf8CodeUnitCount {
            guard skip(word.utf8Start[index]) else { throw expected(what) }
        }
        return value
    }

    private mutating func number() throws(JSONError) -> JSON.Number {
        let start = position
        let isNegative = skip(UInt8(ascii: "-"))
        var magnitude: UInt64 = 0
        let wholeDigits = try digits(&magnitude, "a digit")
        guard wholeDigits == 1 || text[position - wholeDigits] != UInt8(ascii: "0") else {
            throw expected("a number without leading zeros", .malformedNumber, at: position - wholeDigits)
        }
        var fractionDigits = 0
        if skip(UInt8(ascii: ".")) { fractionDigits = try digits(&magnitude, "a digit after the decimal point") }
        let isExact = wholeDigits + fractionDigits <= 18  // with more digits, `magnitude` may have overflowed
        // A normal `Double` keeps up to fifteen digits exactly.
        let isShort = isExact && magnitude < 1_000_000_000_000_000
        let hasExponent = position < end && current | 0x20 == UInt8(ascii: "e")
        if hasExponent {
            position &+= 1
            if !skip(UInt8(ascii: "-")) { _ = skip(UInt8(ascii: "+")) }
            var exponent: UInt64 = 0
            _ = try digits(&exponent, "a digit in the exponent")
        } else if isExact, fractionDigits == 0, magnitude != 0 || !isNegative {
            return JSON.Number(isNegative ? -Int64(magnitude) : Int64(magnitude))
        } else if isShort {
            // `magnitude` and the power of ten are exact as `Double`, so their quotient is the `Double` nearest to the
            // number.
            var value = 1.0
            for _ in 0..<fractionDigits { value *= 10 }
            value = Double(magnitude) / value
            return JSON.Number(isNegative ? -value : value)
        }
        return JSON.Number(
            checked: String(decoding: UnsafeBufferPointer(rebasing: text[start..<position]), as: UTF8.self),
            isInteger: fractionDigits == 0 && !hasExponent, isShort: isShort)
    }

    /// Parses one or more digits, appends them to the decimal number `value`, and returns their count.
    @inline(__always)
    private mutating func digits(_ value: inout UInt64, _ what: StaticString) throws(JSONError) -> Int {
        let start = position
        while position < end, current &- UInt8(ascii: "0") <= 9 {
            value = value &* 10 &+ UInt64(current &- UInt8(ascii: "0"))
            position &+= 1
        }
        guard position > start else { throw expected(what, .malformedNumber) }
        return position - start
    }
}
