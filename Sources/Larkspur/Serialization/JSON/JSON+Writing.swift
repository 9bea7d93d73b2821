import Foundation

extension JSON {
    /// How a value is written; without any, as short as possible and with the keys of objects in their own order.
    public struct WritingOptions: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The keys of every object in order, so that equal values give equal bytes wherever their numbers are spelled alike.
        public static let sortedKeys = WritingOptions(rawValue: 1 << 0)
        /// On many lines, indented by two spaces.
        public static let prettyPrinted = WritingOptions(rawValue: 1 << 1)
    }

    /// The value as UTF-8 bytes.
    ///
    /// Numbers are written with the digits they were read with, save that a `Double` has its shortest form (`1e2` comes
    /// out as `100.0`). Only what must be escaped in strings is.
    public func bytes(_ options: WritingOptions = []) -> [UInt8] {
        var writer = JSONWriter(options: options)
        writer.write(self)
        return writer.bytes
    }

    /// The value as UTF-8 data, for a request's body or a file.
    public func data(_ options: WritingOptions = []) -> Data {
        Data(bytes(options))
    }

    /// The value as text.
    public func text(_ options: WritingOptions = []) -> String {
        String(decoding: bytes(options), as: UTF8.self)
    }
}

extension JSON: CustomStringConvertible {
    /// The value on one line, its keys sorted.
    public var description: String {
        text(.sortedKeys)
    }
}

/// Appends values to a buffer of bytes, without recursion: containers that are not finished wait on a stack.
private struct JSONWriter {
    private enum Contents {
        case elements([JSON])
        case members([JSON.Object.Member])

        var count: Int {
            switch self {
            case .elements(let elements): elements.count
            case .members(let members): members.count
            }
        }
    }

    let options: JSON.WritingOptions
    private(set) var bytes: [UInt8] = []
    private var open: [(contents: Contents, next: Int)] = []

    init(options: JSON.WritingOptions) {
        self.options = options
    }

    mutating func write(_ value: JSON) {
        begin(value)
        while let (contents, next) = open.popLast() {
            if next < contents.count {
                if next > 0 { bytes.append(UInt8(ascii: ",")) }
                open.append((contents, next + 1))
                beginLine()
                writePart(of: contents, at: next)
            } else {
                if next > 0 { beginLine() }
                if case .elements = contents {
                    bytes.append(UInt8(ascii: "]"))
                } else {
                    bytes.append(UInt8(ascii: "}"))
                }
            }
        }
    }

    /// Writes a value, of a container only the opening bracket.
    private mutating func begin(_ value: JSON) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let number): bytes.append(contentsOf: number.description.utf8)
        case .string(let text): write(text)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            open.append((.elements(elements), 0))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            let members = options.contains(.sortedKeys) ? object.sorted { $0.key < $1.key } : object.members
            open.append((.members(members), 0))
        }
    }

    private mutating func writePart(of contents: Contents, at index: Int) {
        switch contents {
        case .elements(let elements):
            begin(elements[index])
        case .members(let members):
            write(members[index].key)
            bytes.append(contentsOf: (options.contains(.prettyPrinted) ? ": " : ":").utf8)
            begin(members[index].value)
        }
    }

    private mutating func beginLine() {
        guard options.contains(.prettyPrinted) else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * open.count))
    }

    private mutating func write(_ text: String) {
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
        case 0x08: bytes.append(contentsOf: "\\b".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0C: bytes.append(contentsOf: "\\f".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x20...: bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        default: bytes.append(contentsOf: "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
        }
    }
}
