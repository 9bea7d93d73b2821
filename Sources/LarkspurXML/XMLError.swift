/// An error of a text that is not XML, with its position: `unexpected ">" at line 3, column 14: expected a value in
/// quotation marks`.
///
/// The description shows at most one character of the text, so that logs contain no secrets of a body.
public struct XMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the error. Further kinds may be added.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A character that the grammar does not allow at this position.
        public static let unexpectedCharacter = Reason(rawValue: "unexpectedCharacter")
        /// The text ends within the document.
        public static let unexpectedEnd = Reason(rawValue: "unexpectedEnd")
        /// An encoding other than UTF-8, UTF-16 and ISO-8859-1, in the declaration or the `charset`.
        public static let unsupportedEncoding = Reason(rawValue: "unsupportedEncoding")
        /// Bytes that are not text in the document's encoding.
        public static let malformedEncoding = Reason(rawValue: "malformedEncoding")
        /// A character that XML does not allow, such as most control characters. A reference to such a character is the
        /// same error.
        public static let invalidCharacter = Reason(rawValue: "invalidCharacter")
        /// A name that begins with a digit, or has two colons.
        public static let malformedName = Reason(rawValue: "malformedName")
        /// An ampersand that does not begin a reference.
        public static let malformedReference = Reason(rawValue: "malformedReference")
        /// An entity other than the five predefined ones. Entity declarations of a document are ignored.
        public static let unknownEntity = Reason(rawValue: "unknownEntity")
        /// An end tag that does not match the innermost open element.
        public static let mismatchedTag = Reason(rawValue: "mismatchedTag")
        /// Two attributes with the same name in an element.
        public static let duplicateAttribute = Reason(rawValue: "duplicateAttribute")
        /// A prefix without a namespace declaration.
        public static let unboundPrefix = Reason(rawValue: "unboundPrefix")
        /// A namespace declaration that is not allowed.
        public static let invalidNamespace = Reason(rawValue: "invalidNamespace")
        /// A nesting of elements deeper than ``XML/maximumDepth``.
        public static let tooDeep = Reason(rawValue: "tooDeep")
        /// An element with more attributes than ``XML/maximumAttributes``.
        public static let tooManyAttributes = Reason(rawValue: "tooManyAttributes")
    }

    /// The kind of the error.
    public let reason: Reason
    /// The line, from 1. Lines end with LF, CR or both.
    public let line: Int
    /// The column in Unicode scalars, from 1.
    public let column: Int
    public let description: String

    /// Creates an error at the offset. If the offset is the end of the text, the reason is always `.unexpectedEnd`.
    init(_ reason: Reason, at offset: Int, of text: [UInt8], expected: String) {
        var line = 1
        var column = 1
        for index in 0..<offset {
            switch text[index] {
            case 0x0D where index + 1 < text.count && text[index + 1] == 0x0A: break
            case 0x0A, 0x0D: (line, column) = (line + 1, 1)
            case 0x80..<0xC0: break  // a further byte of the same character
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
