/// Makes values of a stream of bytes, whose chunks may end anywhere: lines, events, messages.
///
/// A parser is a value. `parsed(by:)` gives each iteration a copy of its own, so one that was never used is all a
/// sequence needs to know. After it has thrown it is of no more use.
public protocol StreamParser<Output>: Sendable {
    /// What it makes of the bytes.
    associatedtype Output: Sendable

    /// Takes the next value off the front of the bytes; nil, and no bytes left, when more are needed for one. The bytes
    /// are there only during the call.
    mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Output?

    /// What is left makes a last value, or none, or a failure. Called once, after the last byte.
    mutating func end() throws -> Output?
}

extension StreamParser {
    /// All values that the chunk completes. A failure takes the values before it along: where they count, iterate.
    public mutating func parse(_ chunk: Data) throws -> [Output] {
        try chunk.withUnsafeBytes { bytes in
            var rest = bytes
            var values: [Output] = []
            while let value = try next(in: &rest) { values.append(value) }
            return values
        }
    }
}

/// The bytes of one line or message that came in earlier chunks than its last one.
struct Remainder: Sendable {
    private(set) var bytes: [UInt8] = []
    let limit: Int

    var isEmpty: Bool { bytes.isEmpty }

    /// Whether these are all the bytes of something that is not too large, so that there is nothing to join.
    func isWhole(_ last: UnsafeRawBufferPointer) -> Bool { bytes.isEmpty && last.count <= limit }

    /// Keeps bytes, and leaves none of them.
    mutating func keep(_ more: inout UnsafeRawBufferPointer) throws {
        guard bytes.count + more.count <= limit else { throw Self.tooLarge(limit) }
        bytes.append(contentsOf: more.take(more.count))
    }

    /// All bytes of something whose last ones are there now.
    mutating func completed(with last: UnsafeRawBufferPointer) throws -> [UInt8] {
        var last = last
        try keep(&last)
        defer { bytes = [] }
        return bytes
    }

    static func tooLarge(_ limit: Int) -> RequestError {
        RequestError(.messageTooLarge, "it is larger than \(limit) bytes; raise its limit if that is right")
    }
}

// Inlined, because they are called a few times a line, and constants fold.
extension UnsafeRawBufferPointer {
    /// Cuts that many bytes off the front.
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

    /// Where the first carriage return or line feed is. In stretches: a stream may have only one of the two, and a search
    /// for the other would go over the whole chunk for each line.
    @inline(__always)
    func firstLineEnd() -> Int? {
        guard let start = baseAddress else { return nil }
        if count > 0, self[0] == 0x0A { return 0 }  // as every second line of events is
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
