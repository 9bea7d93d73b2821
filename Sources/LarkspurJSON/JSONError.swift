/// The error for a text that is not valid JSON, with the position of the first fault. Example of a description:
/// `unexpected "}" at line 3, column 14: expected a value`.
///
/// The description shows at most one character of the text, so that logs contain no secrets of a body.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the error. Further kinds may be added.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A character that the grammar does not allow at this position.
        public static let unexpectedCharacter = Reason(rawValue: "unexpectedCharacter")
        /// The text ends within the value.
        public static let unexpectedEnd = Reason(rawValue: "unexpectedEnd")
        /// A number with a leading zero, or without required digits.
        public static let malformedNumber = Reason(rawValue: "malformedNumber")
        /// An unescaped control character, such as a line break, in a string.
        public static let controlCharacter = Reason(rawValue: "controlCharacter")
        /// A backslash before a character that cannot be escaped, or `\u` without four hexadecimal digits.
        public static let malformedEscape = Reason(rawValue: "malformedEscape")
        /// An escape of a lone surrogate, such as `\ud800`, which a `String` cannot represent.
        public static let loneSurrogate = Reason(rawValue: "loneSurrogate")
        /// Bytes that are not UTF-8.
        public static let malformedUTF8 = Reason(rawValue: "malformedUTF8")
        /// A duplicate key in an object, with ``JSON/DuplicateKeyPolicy/refuse``.
        public static let duplicateKey = Reason(rawValue: "duplicateKey")
        /// A nesting of arrays and objects deeper than ``JSON/maximumDepth``.
        public static let tooDeep = Reason(rawValue: "tooDeep")
        /// A document of four gigabytes or more.
        public static let tooLarge = Reason(rawValue: "tooLarge")
    }

    /// The kind of the error.
    public let reason: Reason
    /// The position of the error in bytes, counted from 0.
    public let offset: Int
    /// The line of the error, counted from 1. Lines end with LF, CR or CRLF.
    public let line: Int
    /// The column of the error in bytes, counted from 1.
    public let column: Int
    public let description: String

    /// Creates an error for the position `offset`. If the text ends too early, `offset` is the size of the text.
    init(_ reason: Reason, at offset: Int, of text: UnsafeBufferPointer<UInt8>, expected: String) {
        var line = 1
        var lineStart = text.starts(with: ByteOrderMark.utf8) ? ByteOrderMark.utf8.count : 0
        for index in 0..<offset where text[index] == 0x0A || text[index] == 0x0D {
            if text[index] == 0x0D, index + 1 < text.count, text[index + 1] == 0x0A { continue }
            line += 1
            lineStart = index + 1
        }
        self.line = line
        self.column = offset - lineStart + 1
        self.offset = offset
        self.reason = offset == text.count ? .unexpectedEnd : reason
        var found = "end"
        if offset < text.count {
            let isPrintable = (0x20..<0x7F).contains(text[offset])
            found = isPrintable ? "\"\(Character(UnicodeScalar(text[offset])))\"" : "byte \(text[offset])"
        }
        description = "unexpected \(found) at line \(line), column \(column): expected \(expected)"
    }
}
