/// A scanner of a document's text. Whatever the bytes are, the scanner never reads beyond the text and always advances.
struct XMLScanner: Sendable {
    /// The text in UTF-8, with LF line ends.
    let text: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == text.count }

    /// The byte at `position`; 0, which XML does not allow, at the end.
    var current: UInt8 { isAtEnd ? 0 : text[position] }

    // Never inlined, because errors are rare: their code would take space in the instruction cache that frequent code
    // needs.
    @inline(never)
    func expected(
        _ what: StaticString, _ reason: XMLError.Reason = .unexpectedCharacter, at offset: Int? = nil
    ) -> XMLError {
        XMLError(reason, at: offset ?? position, of: text, expected: what.description)
    }

    func string(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }

    static func scalar(at offset: Int, of text: [UInt8]) -> Unicode.Scalar? {
        String(decoding: text[offset..<min(offset + 4, text.count)], as: UTF8.self).unicodeScalars.first
    }

    func sees(_ word: StaticString) -> Bool {
        guard text.count - position >= word.utf8CodeUnitCount else { return false }
        for index in 0..<word.utf8CodeUnitCount where text[position + index] != word.utf8Start[index] { return false }
        return true
    }

    mutating func skip(_ word: StaticString) -> Bool {
        guard sees(word) else { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    /// Skips white space. Returns false if there is none.
    @discardableResult
    mutating func skipWhitespace() -> Bool {
        let start = position
        while current == 0x20 || current == 0x0A || current == 0x09 || current == 0x0D { position += 1 }
        return position > start
    }

    /// Skips everything up to and including a word. Returns the range of the skipped text before the word.
    mutating func skip(through word: StaticString, _ what: StaticString) throws(XMLError) -> Range<Int> {
        let start = position
        while !skip(word) {
            guard !isAtEnd else { throw expected(what) }
            position += 1
        }
        return start..<position - word.utf8CodeUnitCount
    }

    /// Skips a quoted value. Returns the range between the quotation marks.
    mutating func skipLiteral() throws(XMLError) -> Range<Int> {
        if skip("\"") { return try skip(through: "\"", "the closing quotation mark") }
        guard skip("'") else { throw expected("a value in quotation marks") }
        return try skip(through: "'", "the closing quotation mark")
    }

    mutating func skipEqualsSign() throws(XMLError) {
        skipWhitespace()
        guard skip("=") else { throw expected("\"=\" after the name") }
        skipWhitespace()
    }

    /// Skips a name without a colon.
    mutating func skipName() throws(XMLError) -> Range<Int> {
        let start = position
        while let length = nameCharacterLength(isFirst: position == start) { position += length }
        guard position > start else { throw expected("a name", .malformedName) }
        return start..<position
    }

    /// Skips a name with or without a prefix, and returns its parts. The prefix is empty if the name has none.
    mutating func skipQualifiedName() throws(XMLError) -> (prefix: String, local: String) {
        let first = string(try skipName())
        return skip(":") ? (first, string(try skipName())) : ("", first)
    }

    /// Returns the number of bytes of the character at `position`, if a name may contain it.
    private func nameCharacterLength(isFirst: Bool) -> Int? {
        switch current {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): return 1
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): return isFirst ? nil : 1
        case 0x80...:
            guard let scalar = Self.scalar(at: position, of: text) else { return nil }
            let isAllowed =
                Self.nameStarts.contains { $0.contains(scalar.value) }
                || !isFirst && Self.nameParts.contains { $0.contains(scalar.value) }
            return isAllowed ? UTF8.width(scalar) : nil
        default: return nil
        }
    }

    /// The characters beyond ASCII that can begin a name (XML 1.0, fifth edition, production 4).
    private static let nameStarts: [ClosedRange<UInt32>] = [
        0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F,
        0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF,
    ]
    /// The further characters beyond ASCII that a name can contain (production 4a).
    private static let nameParts: [ClosedRange<UInt32>] = [0xB7...0xB7, 0x300...0x36F, 0x203F...0x2040]

    /// Skips a reference, which begins with an ampersand, and appends the character that the reference means.
    mutating func skipReference(into buffer: inout [UInt8]) throws(XMLError) {
        let start = position
        position += 1
        if skip("#") {
            let scalar = try skipNumber(reference: start)
            if let utf8 = UTF8.encode(scalar) { buffer.append(contentsOf: utf8) }
            return
        }
        for (entity, byte) in Self.entities where skip(entity) { return buffer.append(byte) }
        guard (try? skipName()) != nil, skip(";") else {
            throw expected("\"&amp;\", or the name of an entity and \";\"", .malformedReference)
        }
        throw expected("one of the entities lt, gt, amp, quot and apos, or a number", .unknownEntity, at: start)
    }

    private static let entities: [(StaticString, UInt8)] = [
        ("lt;", UInt8(ascii: "<")), ("gt;", UInt8(ascii: ">")), ("amp;", UInt8(ascii: "&")),
        ("quot;", UInt8(ascii: "\"")), ("apos;", UInt8(ascii: "'")),
    ]

    /// Skips the number in a character reference and the semicolon after it. Returns the character.
    private mutating func skipNumber(reference start: Int) throws(XMLError) -> Unicode.Scalar {
        let radix = skip("x") ? 16 : 10
        let digits = position
        var value = 0
        while let digit = Character(Unicode.Scalar(current)).hexDigitValue, digit < radix {
            value = min(value * radix + digit, 0x110000)
            position += 1
        }
        guard position > digits, skip(";") else {
            throw expected("a number and \";\" after \"&#\"", .malformedReference)
        }
        guard let scalar = Unicode.Scalar(UInt32(value)), Self.isCharacter(scalar.value) else {
            throw expected("the number of a character that XML allows", .invalidCharacter, at: start)
        }
        return scalar
    }

    static func isCharacter(_ scalar: UInt32) -> Bool {
        scalar >= 0x20 && scalar != 0xFFFE && scalar != 0xFFFF || scalar == 0x09 || scalar == 0x0A || scalar == 0x0D
    }
}
