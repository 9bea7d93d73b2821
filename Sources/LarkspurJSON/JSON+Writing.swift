extension JSON: CustomStringConvertible {
    /// The format of written JSON. Without options the text is as short as possible, and the members of objects keep
    /// their order.
    public struct WritingOptions: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Sorts the members of objects by key, so that equal values have equal texts.
        public static let sortedKeys = WritingOptions(rawValue: 1 << 0)
        /// Writes on several lines, indented by two spaces.
        public static let prettyPrinted = WritingOptions(rawValue: 1 << 1)
    }

    /// Returns the value as UTF-8 data, for a request's body or a file.
    ///
    /// Numbers keep the digits of the text from which they were parsed. The exception is a number that is stored as a
    /// `Double`, which is written in its shortest form: `1e2` becomes `100.0`. Strings are written with only the
    /// necessary escapes.
    public func data(_ options: WritingOptions = []) -> Data { written(options) { Data($0) } }

    /// Returns the value as JSON text, on one line by default.
    public func text(_ options: WritingOptions = []) -> String {
        written(options) { String(decoding: $0, as: UTF8.self) }
    }

    private func written<Result>(_ options: WritingOptions, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var text = JSONText()
        defer { text.free() }
        let style = JSONTextStyle(
            isPretty: options.contains(.prettyPrinted), isSorted: options.contains(.sortedKeys))
        _ = text.append(self, style)
        return body(text.buffer)
    }

    /// The value as JSON text on one line, with sorted keys.
    public var description: String { text(.sortedKeys) }
}
