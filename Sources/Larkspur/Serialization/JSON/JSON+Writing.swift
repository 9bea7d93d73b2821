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
    public func data(_ options: WritingOptions = []) -> Data { Data(JSONWriter(self, options).bytes) }

    /// Returns the value as JSON text, on one line by default.
    public func text(_ options: WritingOptions = []) -> String {
        String(decoding: JSONWriter(self, options).bytes, as: UTF8.self)
    }

    /// The value as JSON text on one line, with sorted keys.
    public var description: String { text(.sortedKeys) }
}

private struct JSONWriter {
    private let options: JSON.WritingOptions
    private(set) var bytes: [UInt8] = []
    private var depth = 0

    init(_ value: JSON, _ options: JSON.WritingOptions) {
        self.options = options
        write(value)
    }

    private mutating func write(_ value: JSON) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(number.description)
        case .string(let text): writeString(text)
        case .array(let elements): write(elements, "[", "]") { $0.write($1) }
        case .object(let object) where options.contains(.sortedKeys):
            write(object.sorted { $0.key < $1.key }, "{", "}") { $0.writeMember($1.key, $1.value) }
        case .object(let object): write(object, "{", "}") { $0.writeMember($1.key, $1.value) }
        }
    }

    @inline(__always)
    private mutating func write<Parts: Collection>(
        _ parts: Parts, _ opening: Unicode.Scalar, _ closing: Unicode.Scalar,
        part write: (inout JSONWriter, Parts.Element) -> Void
    ) {
        bytes.append(UInt8(ascii: opening))
        depth += 1
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            beginLine()
            write(&self, part)
        }
        depth -= 1
        if !parts.isEmpty { beginLine() }
        bytes.append(UInt8(ascii: closing))
    }

    private mutating func writeMember(_ key: String, _ value: JSON) {
        writeString(key)
        bytes.append(UInt8(ascii: ":"))
        if options.contains(.prettyPrinted) { bytes.append(UInt8(ascii: " ")) }
        write(value)
    }

    private mutating func beginLine() {
        guard options.contains(.prettyPrinted) else { return }
        append("\n")
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func writeString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var pending = 0
            for (index, byte) in utf8.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[pending..<index]))
                writeEscape(of: byte)
                pending = index + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[pending...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func writeEscape(of byte: UInt8) {
        switch byte {
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        case 0x20...: bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        default: append("\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))")
        }
    }
}
