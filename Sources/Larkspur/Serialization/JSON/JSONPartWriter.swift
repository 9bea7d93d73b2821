/// Writes an encoded value as text, with the bytes that `JSONEncoder` writes.
struct JSONPartWriter {
    private let isPretty, isSorted, escapesSlashes: Bool
    private(set) var bytes: [UInt8] = []
    private var depth = 0
    /// The maximum nesting, as in Foundation. The writer recurses.
    private static let maximumDepth = 512

    init(_ formatting: JSONEncoder.OutputFormatting) {
        isPretty = formatting.contains(.prettyPrinted)
        isSorted = formatting.contains(.sortedKeys)
        escapesSlashes = !formatting.contains(.withoutEscapingSlashes)
    }

    mutating func write(_ part: JSONPart) throws {
        switch part {
        case .word(let text): append(text)
        case .string(let text): writeString(text)
        case .json(let value): try write(value)
        case .slot(let slot): try write(slot.part ?? .empty)
        case .contents(let contents) where contents.isObject:
            let members = zip(contents.keys, contents.parts)
            try writeObject(isSorted ? members.sorted { $0.0 < $1.0 } : Array(members)) { try $0.write($1) }
        case .contents(let contents): try writeArray(contents.parts) { try $0.write($1) }
        }
    }

    private mutating func write(_ value: JSON) throws {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(number.description)
        case .string(let text): writeString(text)
        case .array(let elements): try writeArray(elements) { try $0.write($1) }
        case .object(let object):
            let members = object.map { ($0.key, $0.value) }
            try writeObject(isSorted ? members.sorted { $0.0 < $1.0 } : members) { try $0.write($1) }
        }
    }

    private mutating func writeArray<Element>(
        _ elements: [Element], _ write: (inout JSONPartWriter, Element) throws -> Void
    ) throws {
        try begin("[", isEmpty: elements.isEmpty)
        for (index, element) in elements.enumerated() {
            if index > 0 { separate() }
            try write(&self, element)
        }
        end("]")
    }

    private mutating func writeObject<Value>(
        _ members: [(String, Value)], _ write: (inout JSONPartWriter, Value) throws -> Void
    ) throws {
        try begin("{", isEmpty: members.isEmpty)
        for (index, (key, value)) in members.enumerated() {
            if index > 0 { separate() }
            writeString(key)
            append(isPretty ? " : " : ":")
            try write(&self, value)
        }
        end("}")
    }

    private mutating func begin(_ bracket: String, isEmpty: Bool) throws {
        guard depth < Self.maximumDepth else {
            throw EncodingError.invalidValue(
                depth, .init(codingPath: [], debugDescription: "the value is nested deeper than \(depth) levels"))
        }
        append(bracket)
        depth += 1
        // Foundation writes an empty line between the brackets of empty arrays and objects.
        if !isEmpty { beginLine() } else if isPretty { bytes.append(0x0A) }
    }

    private mutating func end(_ bracket: String) {
        depth -= 1
        beginLine()
        append(bracket)
    }

    private mutating func separate() {
        bytes.append(UInt8(ascii: ","))
        beginLine()
    }

    private mutating func beginLine() {
        guard isPretty else { return }
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: 2 * depth))
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func writeString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var pending = 0
            for (index, byte) in utf8.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                || byte == UInt8(ascii: "/") && escapesSlashes
            {
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

extension JSONSnakeCase {
    /// Returns the key in snake case: `myURLProperty` becomes `my_url_property`. A word begins at an uppercase letter
    /// after another character, and at the last of several uppercase letters before a lowercase letter.
    static func snakeCase(_ key: String) -> String {
        let characters = Array(key)
        guard characters.count > 1 else { return key.lowercased() }
        var words: [ArraySlice<Character>] = []
        var start = 0
        var next = 1
        while let upper = characters[next...].firstIndex(where: \.isUppercase) {
            words.append(characters[start..<upper])
            start = upper
            guard let lower = characters[upper...].firstIndex(where: \.isLowercase) else { break }
            if lower > upper + 1 {
                words.append(characters[upper..<lower - 1])
                start = lower - 1
            }
            next = lower + 1
            if next >= characters.count { break }
        }
        words.append(characters[start...])
        return words.map { String($0).lowercased() }.joined(separator: "_")
    }
}
