/// Why a text is not XML, and where: `unexpected ">" at line 3, column 14: expected a value in quotation marks`.
///
/// It shows one character of the text at most, so that it can be logged without giving a body's secrets away.
public struct XMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of fault it is; further kinds may be added.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Something else than what the grammar wants there.
        public static let unexpectedCharacter = Reason(rawValue: "unexpectedCharacter")
        /// The text ends before the document does.
        public static let unexpectedEnd = Reason(rawValue: "unexpectedEnd")
        /// Neither UTF-8 nor UTF-16 nor ISO-8859-1, by its own word or that of whoever sent it.
        public static let unsupportedEncoding = Reason(rawValue: "unsupportedEncoding")
        /// Bytes that are no text in the document's encoding.
        public static let malformedEncoding = Reason(rawValue: "malformedEncoding")
        /// A character that XML does not have, such as most controls, also as a reference.
        public static let invalidCharacter = Reason(rawValue: "invalidCharacter")
        /// A name that begins with a digit, or has two colons.
        public static let malformedName = Reason(rawValue: "malformedName")
        /// An ampersand that begins no reference.
        public static let malformedReference = Reason(rawValue: "malformedReference")
        /// An entity other than the five that XML has; those that a document declares are not read.
        public static let unknownEntity = Reason(rawValue: "unknownEntity")
        /// An end tag that is not that of the innermost open element.
        public static let mismatchedTag = Reason(rawValue: "mismatchedTag")
        /// Two attributes of one name in an element.
        public static let duplicateAttribute = Reason(rawValue: "duplicateAttribute")
        /// A prefix that no declaration around it gives a namespace.
        public static let unboundPrefix = Reason(rawValue: "unboundPrefix")
        /// A declaration of a namespace that is not allowed.
        public static let invalidNamespace = Reason(rawValue: "invalidNamespace")
        /// More elements in one another than ``XML/maximumDepth``.
        public static let tooDeep = Reason(rawValue: "tooDeep")
        /// More attributes of an element than ``XML/maximumAttributes``.
        public static let tooManyAttributes = Reason(rawValue: "tooManyAttributes")
    }

    /// What kind of fault it is.
    public let reason: Reason
    /// From 1; a line ends with LF, CR or both.
    public let line: Int
    /// From 1, in Unicode scalars.
    public let column: Int
    public let description: String

    /// A fault at `offset` of the text, or at its end if `offset` is there.
    init(_ reason: Reason, at offset: Int, of text: [UInt8], expected: String) {
        var line = 1
        var column = 1
        for index in 0..<offset {
            switch text[index] {
            case 0x0D where index + 1 < text.count && text[index + 1] == 0x0A: break
            case 0x0A, 0x0D: (line, column) = (line + 1, 1)
            case 0x80..<0xC0: break  // the rest of a character
            default: column += 1
            }
        }
        self.line = line
        self.column = column
        self.reason = offset == text.count ? .unexpectedEnd : reason
        var found = "end"
        if let scalar = XMLScanner.scalar(at: offset, of: text) {
            let isPrintable = scalar.isASCII && scalar.value >= 0x20 && scalar.value < 0x7F
            found = isPrintable ? "\"\(scalar)\"" : "character U+\(String(scalar.value, radix: 16, uppercase: true))"
        }
        description = "unexpected \(found) at line \(line), column \(column): expected \(expected)"
    }
}
