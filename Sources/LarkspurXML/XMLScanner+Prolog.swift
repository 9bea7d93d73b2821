import Larkspur

extension XMLScanner {
    /// Creates a scanner of a document in any supported encoding.
    init(document: Data, charset: String?) throws(XMLError) {
        self.init(text: try Self.checked(Self.decoded([UInt8](document), charset: charset)))
    }

    private static func decoded(_ bytes: [UInt8], charset: String?) throws(XMLError) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return try decodedUTF8(bytes.dropFirst(3)) }
        // The last two of these lines detect UTF-16 without a byte order mark: a document in UTF-8 has no NUL byte
        // before or after its first "<".
        if bytes.starts(with: [0xFE, 0xFF]) { return try decodedUTF16(bytes.dropFirst(2), high: 0) }
        if bytes.starts(with: [0xFF, 0xFE]) { return try decodedUTF16(bytes.dropFirst(2), high: 1) }
        if bytes.starts(with: [0, 0x3C]) { return try decodedUTF16(bytes[...], high: 0) }
        if bytes.starts(with: [0x3C, 0]) { return try decodedUTF16(bytes[...], high: 1) }
        var scanner = XMLScanner(text: bytes)
        switch (charset ?? (try? scanner.skipDeclaration()) ?? "UTF-8").uppercased() {
        case "ISO-8859-1", "LATIN1": return try decoded(bytes.map(UInt16.init), as: UTF16.self)
        // Some services declare UTF-16 but send UTF-8, because they create documents as text in memory. Real UTF-16 has
        // been detected above, so the document is decoded as UTF-8.
        case "UTF-8", "UTF8", "US-ASCII", "UTF-16": return try decodedUTF8(bytes[...])
        default:
            throw XMLError(
                .unsupportedEncoding, at: 0, of: bytes, expected: "a document in UTF-8, UTF-16 or ISO-8859-1")
        }
    }

    private static func decodedUTF8(_ bytes: ArraySlice<UInt8>) throws(XMLError) -> [UInt8] {
        // `String(decoding:as:)` replaces invalid bytes. Their position is searched only if the string differs.
        var text = String(decoding: bytes, as: UTF8.self)
        let isIntact = text.withUTF8 { utf8 in bytes.withUnsafeBytes { $0.elementsEqual(utf8) } }
        return isIntact ? Array(bytes) : try decoded(bytes, as: UTF8.self)
    }

    /// - Parameter high: The index of the high byte in each pair of bytes: 0 for big-endian text, 1 for little-endian
    ///   text.
    private static func decodedUTF16(_ bytes: ArraySlice<UInt8>, high: Int) throws(XMLError) -> [UInt8] {
        var units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { index in
            UInt16(bytes[index + high]) << 8 | UInt16(bytes[index + 1 - high])
        }
        if bytes.count % 2 > 0 { units.append(0xDC00) }  // an odd byte is invalid, like a lone surrogate
        return try decoded(units, as: UTF16.self)
    }

    private static func decoded<Encoding: Unicode.Encoding>(
        _ units: some Collection<Encoding.CodeUnit>, as encoding: Encoding.Type
    ) throws(XMLError) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(units.count)
        let hasFault = transcode(units.makeIterator(), from: encoding, to: UTF8.self, stoppingOnError: true) {
            text.append($0)
        }
        guard hasFault else { return text }
        let offset = text.count
        text.append(contentsOf: "\u{FFFD}".utf8)
        throw XMLError(.malformedEncoding, at: offset, of: text, expected: "text in the document's encoding")
    }

    /// Returns the text with LF line ends. Throws if it has characters that XML does not allow.
    private static func checked(_ text: [UInt8]) throws(XMLError) -> [UInt8] {
        var hasCarriageReturns = false
        for (offset, byte) in text.enumerated() where byte < 0x20 || byte == 0xEF {
            switch byte {
            case 0x09, 0x0A: break
            case 0x0D: hasCarriageReturns = true
            case 0xEF where text[offset + 1] != 0xBF || text[offset + 2] < 0xBE: break
            default: throw XMLError(.invalidCharacter, at: offset, of: text, expected: "a character that XML allows")
            }
        }
        guard hasCarriageReturns else { return text }
        let lineFeed: UInt8 = 0x0A
        return text.indices.compactMap { index in
            guard text[index] == 0x0D else { return text[index] }
            return index + 1 < text.count && text[index + 1] == lineFeed ? nil : lineFeed
        }
    }

    /// Skips the XML declaration, if there is one, and returns its encoding.
    @discardableResult
    mutating func skipDeclaration() throws(XMLError) -> String? {
        let start = position
        guard skip("<?xml"), skipWhitespace() else {
            position = start  // another processing instruction, such as `<?xml-stylesheet`
            return nil
        }
        position -= 1  // the white space belongs to the next part
        guard let version = try skipPart("version"), ["1.0", "1.1"].contains(version) else {
            throw expected("the version number 1.0 before this")
        }
        let encoding = try skipPart("encoding")
        if let standalone = try skipPart("standalone"), !["yes", "no"].contains(standalone) {
            throw expected("\"yes\" or \"no\" before this")
        }
        skipWhitespace()
        guard skip("?>") else { throw expected("\"?>\" after the XML declaration") }
        return encoding
    }

    /// Skips the part of the declaration with this name and returns its value; nil if another part comes next.
    private mutating func skipPart(_ name: StaticString) throws(XMLError) -> String? {
        let start = position
        guard skipWhitespace(), skip(name) else {
            position = start
            return nil
        }
        try skipEqualsSign()
        return string(try skipLiteral())
    }

    /// Skips a document type declaration, from the end of its keyword on.
    ///
    /// Its content is ignored: no entity is expanded and no external resource is requested.
    mutating func skipDocumentType() throws(XMLError) {
        guard skipWhitespace() else { throw expected("white space") }
        _ = try skipQualifiedName()
        skipWhitespace()
        for _ in 0..<(skip("PUBLIC") ? 2 : skip("SYSTEM") ? 1 : 0) {
            guard skipWhitespace() else { throw expected("white space") }
            _ = try skipLiteral()
        }
        skipWhitespace()
        if skip("[") { try skipInternalSubset() }
        skipWhitespace()
        guard skip(">") else { throw expected("\">\" after the document type") }
    }

    /// Skips declarations up to and including the closing bracket. A bracket in quotes, in a comment or in a processing
    /// instruction does not close the declarations.
    private mutating func skipInternalSubset() throws(XMLError) {
        while !skip("]") {
            if skip("<!--") {
                _ = try skip(through: "-->", "\"-->\" after the comment")
            } else if skip("<?") {
                _ = try skip(through: "?>", "\"?>\" after the processing instruction")
            } else if sees("\"") || sees("'") {
                _ = try skipLiteral()
            } else if !isAtEnd {
                position += 1
            } else {
                throw expected("\"]\" after the declarations")
            }
        }
    }
}
