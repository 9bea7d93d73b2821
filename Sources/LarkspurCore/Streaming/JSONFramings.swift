/// A framing of one JSON text per line.
struct JSONLinesFraming: MessageFraming {
    private var splitter: LineSplitter

    init(limit: Int) { splitter = LineSplitter(limit: limit) }

    mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? {
        while let line = try splitter.next(in: &bytes, Self.message) {
            if let line { return line }
        }
        return nil
    }

    mutating func end() throws -> Data? { try splitter.end(Self.message) ?? nil }

    /// Returns the line as a message; nil for a line of only white space.
    private static func message(_ line: UnsafeRawBufferPointer) -> Data? {
        line.allSatisfy(JSONSequenceFraming.isBlank) ? nil : Data(line)
    }
}

/// A framing of JSON texts that each begin with a record separator, 0x1E, and end with a line feed (RFC 7464).
struct JSONSequenceFraming: MessageFraming {
    private var remainder: Remainder
    private var isInText = false
    /// The first byte of the current text that is not white space; nil if there is none yet.
    private var first: UInt8?
    private var last: UInt8 = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    init(limit: Int) { remainder = Remainder(limit: limit) }

    mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 0x1E {
                // A record separator begins the next text. It also ends the current text if no line feed has ended that
                // text.
                let text = bytes.take(index - 1)
                _ = bytes.take(1)
                index = 0
                let message = try finish(text)
                isInText = true
                if let message { return message }
            } else if !isInText {
                guard Self.isBlank(byte) else {
                    throw RequestError(
                        .malformedMessage,
                        "the text does not begin with a record separator (0x1E), as JSON sequences require")
                }
                _ = bytes.take(index)
                index = 0
            } else {
                read(byte)
                guard byte == 0x0A, first != nil, depth == 0, !isInString else { continue }
                return try finish(bytes.take(index))
            }
        }
        try remainder.keep(&bytes)
        return nil
    }

    mutating func end() throws -> Data? { try finish(UnsafeRawBufferPointer(start: nil, count: 0)) }

    /// Returns the current text, which ends with these bytes; nil if it has only white space. Throws if it is
    /// truncated.
    private mutating func finish(_ bytes: UnsafeRawBufferPointer) throws -> Data? {
        let text = try remainder.completed(with: bytes)
        guard let first else {
            isInText = false
            return nil
        }
        let endsItself = [UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: "\"")].contains(first)
        guard depth == 0, !isInString, endsItself || Self.isBlank(last) else { throw incompleteMessage }
        (isInText, self.first) = (false, nil)
        return Data(text)
    }

    private mutating func read(_ byte: UInt8) {
        if first == nil, !Self.isBlank(byte) { first = byte }
        last = byte
        if isEscaped {
            isEscaped = false
        } else if isInString {
            isEscaped = byte == UInt8(ascii: "\\")
            isInString = byte != UInt8(ascii: "\"")
        } else {
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth = max(0, depth - 1)  // the decoder rejects extra brackets
            default: break
            }
        }
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
