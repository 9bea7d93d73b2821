/// Why a text is not JSON, and where.
///
/// The description is meant to be read next to the text: `unexpected "}" at line 3, column 14: expected a value`. It
/// shows one character of the text at most, so that it can be logged without giving a body's secrets away.
public struct JSONError: Error, Sendable, Hashable {
    /// What kind of fault it is; further kinds may be added.
    public struct Reason: Sendable, Hashable {
        private enum Kind {
            case unexpectedCharacter, unexpectedEnd, malformedNumber, controlCharacter, malformedEscape, loneSurrogate
            case malformedUTF8, duplicateKey, tooDeep
        }

        private let kind: Kind

        /// A character that cannot stand there.
        public static let unexpectedCharacter = Reason(kind: .unexpectedCharacter)
        /// The text stops too early, or is empty.
        public static let unexpectedEnd = Reason(kind: .unexpectedEnd)
        /// A number not spelled as JSON wants it: `01`, `1.`, `+1`, `.5`, `1e`.
        public static let malformedNumber = Reason(kind: .malformedNumber)
        /// A control character such as a line break inside a string, where it must be escaped.
        public static let controlCharacter = Reason(kind: .controlCharacter)
        /// A backslash followed by something that JSON does not know.
        public static let malformedEscape = Reason(kind: .malformedEscape)
        /// Half of a surrogate pair, as `\ud800`, which is no character and fits in no `String`.
        public static let loneSurrogate = Reason(kind: .loneSurrogate)
        /// Bytes that are not UTF-8.
        public static let malformedUTF8 = Reason(kind: .malformedUTF8)
        /// A key that its object has already, under ``JSON/DuplicateKeyPolicy/refuse``.
        public static let duplicateKey = Reason(kind: .duplicateKey)
        /// More arrays and objects in one another than allowed.
        public static let tooDeep = Reason(kind: .tooDeep)
    }

    public let reason: Reason
    /// Bytes before the fault.
    public let offset: Int
    /// From 1; a line ends with LF, CR or both.
    public let line: Int
    /// From 1, in bytes.
    public let column: Int
    /// What stands there, and what should.
    private let found: String
    private let expected: String
}

extension JSONError: CustomStringConvertible {
    public var description: String {
        "\(found) at line \(line), column \(column): expected \(expected)"
    }
}

extension JSONError {
    /// A fault at `offset` of the text, or at its end if `offset` is there.
    init(_ reason: Reason, at offset: Int, of text: UnsafeBufferPointer<UInt8>, expected: String) {
        let isAtEnd = offset >= text.count
        self.reason = isAtEnd ? .unexpectedEnd : reason
        self.offset = offset
        self.expected = expected
        var line = 1
        var lineStart = text.starts(with: JSONParser.byteOrderMark) ? JSONParser.byteOrderMark.count : 0
        for (index, byte) in text.prefix(offset).enumerated() {
            let isLineEnd = byte == 0x0A || (byte == 0x0D && (index + 1 == text.count || text[index + 1] != 0x0A))
            guard isLineEnd else { continue }
            line += 1
            lineStart = index + 1
        }
        self.line = line
        column = offset - lineStart + 1
        found = isAtEnd ? "unexpected end" : "unexpected \(Self.name(of: text[offset]))"
    }

    /// A byte as it can be shown: itself if printable, else its value.
    private static func name(of byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "\""): "quotation mark"
        case 0x21...0x7E: "\"\(Character(UnicodeScalar(byte)))\""
        case 0x20: "space"
        default: "byte 0x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
}
