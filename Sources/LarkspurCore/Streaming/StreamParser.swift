/// A parser that reads values, such as lines, events or messages, from a stream of bytes in chunks of any size.
///
/// A parser is a value: `parsed(by:)` gives each iteration its own copy of the unused parser. A parser that has thrown
/// an error must not be used again.
public protocol StreamParser<Output>: Sendable {
    /// The type of the values.
    associatedtype Output: Sendable

    /// Removes the next value from the front of the bytes and returns it. If the value is not complete yet, consumes
    /// all bytes and returns nil. The bytes are valid only during the call.
    mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Output?

    /// Returns the value that the end of the stream completes, or nil if there is none. Throws if the stream ended
    /// within a value. Called once, after the last byte.
    mutating func end() throws -> Output?
}

extension StreamParser {
    /// Returns all values that the chunk completes. If this function throws, the chunk's values before the error are
    /// lost. To get these values too, iterate a sequence made by `parsed(by:)`.
    public mutating func parse(_ chunk: Data) throws -> [Output] {
        try chunk.withUnsafeBytes { bytes in
            var rest = bytes
            var values: [Output] = []
            while let value = try next(in: &rest) { values.append(value) }
            return values
        }
    }
}

/// The stored bytes of an incomplete line or message, received in earlier chunks.
struct Remainder: Sendable {
    private(set) var bytes: [UInt8] = []
    let limit: Int

    var isEmpty: Bool { bytes.isEmpty }

    /// Returns whether `last` is a whole line or message within the limit. Then no stored bytes have to be joined with
    /// it.
    func isWhole(_ last: UnsafeRawBufferPointer) -> Bool { bytes.isEmpty && last.count <= limit }

    /// Moves all bytes from `more` to the end of the stored bytes. Throws `.messageTooLarge` if the limit would be
    /// exceeded.
    mutating func keep(_ more: inout UnsafeRawBufferPointer) throws {
        guard bytes.count + more.count <= limit else { throw Self.tooLarge(limit) }
        bytes.append(contentsOf: more.take(more.count))
    }

    /// Returns all bytes of the line or message that ends with the given bytes, and removes the stored bytes.
    mutating func completed(with last: UnsafeRawBufferPointer) throws -> [UInt8] {
        var last = last
        try keep(&last)
        defer { bytes = [] }
        return bytes
    }

    static func tooLarge(_ limit: Int) -> RequestError {
        RequestError(
            .messageTooLarge,
            "the message is larger than its limit of \(limit) bytes; raise the limit if this size is expected")
    }
}

// These functions are always inlined, because parsers call them several times per line.
extension UnsafeRawBufferPointer {
    /// Removes the given number of bytes from the front and returns them.
    @inline(__always)
    mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
        let taken = UnsafeRawBufferPointer(rebasing: self[..<count])
        self = UnsafeRawBufferPointer(rebasing: self[count...])
        return taken
    }

    @inline(__always)
    func firstIndex(ofByte byte: UInt8) -> Int? {
        guard let start = baseAddress, let found = memchr(start, CInt(byte), count) else { return nil }
        return UnsafeRawPointer(found) - start
    }

    /// Returns the index of the first carriage return or line feed. The function searches block by block, with 256
    /// bytes in a block. Many streams contain only one of the two characters, and without blocks, the search for the
    /// other would scan the whole chunk for each line.
    @inline(__always)
    func firstLineEnd() -> Int? {
        guard let start = baseAddress else { return nil }
        if count > 0, self[0] == 0x0A { return 0 }  // an empty line, which ends each event of an event stream
        var position = start
        while position < start + count {
            let stretch = Swift.min(256, start + count - position)
            let feed = memchr(position, 0x0A, stretch).map { UnsafeRawPointer($0) }
            let end = feed ?? position + stretch
            if let found = memchr(position, 0x0D, end - position) { return UnsafeRawPointer(found) - start }
            if let feed { return feed - start }
            position = end
        }
        return nil
    }

    @inline(__always)
    func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let start = baseAddress else { return false }
        return memcmp(start, text.utf8Start, count) == 0
    }
}
