/// Why a text is not JSON, and where: `unexpected "}" at line 3, column 14: expected a value`.
///
/// It shows one character of the text at most, so that it can be logged without giving a body's secrets away.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of fault it is; further kinds may be added.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Something else than what the grammar wants there.
        public static let unexpectedCharacter = Reason(rawValue: "unexpectedCharacter")
        /// The text ends before the value does.
        public static let unexpectedEnd = Reason(rawValue: "unexpectedEnd")
        /// A number with a leading zero, or without digits where there must be some.
        public static let malformedNumber = Reason(rawValue: "malformedNumber")
        /// A character such as a line break inside a string, where it must be escaped.
        public static let controlCharacter = Reason(rawValue: "controlCharacter")
        /// A backslash before what cannot be escaped.
        public static let malformedEscape = Reason(rawValue: "malformedEscape")
        /// Half of a surrogate pair, as `\ud800`, which is no character and fits in no `String`.
        public static let loneSurrogate = Reason(rawValue: "loneSurrogate")
        /// Bytes that are no text.
        public static let malformedUTF8 = Reason(rawValue: "malformedUTF8")
        /// A key that its object has already, under ``JSON/DuplicateKeyPolicy/refuse``.
        public static let duplicateKey = Reason(rawValue: "duplicateKey")
        /// More arrays and objects in one another than ``JSON/maximumDepth``.
        public static let tooDeep = Reason(rawValue: "tooDeep")
    }

    /// What kind of fault it is.
    public let reason: Reason
    /// Bytes before the fault.
    public let offset: Int
    /// From 1; a line ends with LF, CR or both.
    public let line: Int
    /// From 1, in bytes.
    public let column: Int
    public let description: String

    /// A fault at `offset` of the text, or at its end if `offset` is there.
    init(_ reason: Reason, at offset: Int, of text: UnsafeBufferPointer<UInt8>, expected: String) {
        var line = 1
        var lineStart = text.starts(with: JSONParser.byteOrderMark) ? JSONParser.byteOrderMark.count : 0
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
