import Foundation

extension JSON {
    /// What becomes of a key that an object has twice, which RFC 8259 leaves open.
    public enum DuplicateKeyPolicy: Sendable {
        /// The last one counts, as in browsers.
        case keepLast
        /// The text is refused: where another program may read the same bytes and pick the other one.
        case refuse
    }

    /// Parses a document, strictly by RFC 8259: one value in UTF-8, with nothing around it but white space.
    ///
    /// A byte order mark at the start is skipped, because servers send it. Escapes that form half a surrogate pair are
    /// refused, for no `String` can hold them. Any input whatever gives a value or an error, in time and memory
    /// proportional to its length.
    ///
    /// `maximumDepth` is how many arrays and objects may contain one another. It protects the stack of whoever walks
    /// through the value later, and is held to 1,000 at most.
    public init(
        data: Data, maximumDepth: Int = 512, duplicateKeys: DuplicateKeyPolicy = .keepLast
    ) throws(JSONError) {
        let result = data.withUnsafeBytes { bytes in
            Self.parse(bytes.bindMemory(to: UInt8.self), maximumDepth, duplicateKeys)
        }
        self = try result.get()
    }

    /// Parses a document of UTF-8 bytes, by the rules of ``init(data:maximumDepth:duplicateKeys:)``.
    public init(
        bytes: [UInt8], maximumDepth: Int = 512, duplicateKeys: DuplicateKeyPolicy = .keepLast
    ) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { Self.parse($0, maximumDepth, duplicateKeys) }.get()
    }

    /// Parses a document in a string, by the rules of ``init(data:maximumDepth:duplicateKeys:)``; offsets and columns of
    /// errors count its UTF-8 bytes.
    public init(
        text: String, maximumDepth: Int = 512, duplicateKeys: DuplicateKeyPolicy = .keepLast
    ) throws(JSONError) {
        var text = text
        self = try text.withUTF8 { Self.parse($0, maximumDepth, duplicateKeys) }.get()
    }

    private static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, _ maximumDepth: Int, _ duplicateKeys: DuplicateKeyPolicy
    ) -> Result<JSON, JSONError> {
        Result { () throws(JSONError) in
            var parser = JSONParser(bytes, maximumDepth: min(maximumDepth, 1000), duplicateKeys: duplicateKeys)
            return try parser.document()
        }
    }
}
