/// A framing of messages that each begin with their length.
struct LengthPrefixedFraming: MessageFraming {
    private let width: Int
    private let endianness: StandardFraming.Endianness
    private var remainder: Remainder
    private var prefix: [UInt8] = []
    /// The length of the current message; nil until its prefix has been read.
    private var length: Int?

    init(width: Int, endianness: StandardFraming.Endianness, limit: Int) {
        precondition((1...8).contains(width), "a length prefix has 1 to 8 bytes")
        self.width = width
        self.endianness = endianness
        remainder = Remainder(limit: limit)
    }

    mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? {
        if length == nil { try readPrefix(&bytes) }
        guard let length else { return nil }
        guard remainder.bytes.count + bytes.count >= length else {
            try remainder.keep(&bytes)
            return nil
        }
        self.length = nil
        let last = bytes.take(length - remainder.bytes.count)
        return remainder.isEmpty ? Data(last) : Data(try remainder.completed(with: last))
    }

    mutating func end() throws -> Data? {
        guard prefix.isEmpty, length == nil else { throw incompleteMessage }
        return nil
    }

    private mutating func readPrefix(_ bytes: inout UnsafeRawBufferPointer) throws {
        prefix.append(contentsOf: bytes.take(min(bytes.count, width - prefix.count)))
        guard prefix.count == width else { return }
        if endianness == .little { prefix.reverse() }
        let number = prefix.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        prefix.removeAll(keepingCapacity: true)
        guard let length = Int(exactly: number), length <= remainder.limit else {
            throw Remainder.tooLarge(remainder.limit)
        }
        self.length = length
    }
}

/// A framing whose messages a closure finds.
struct CustomFraming: MessageFraming {
    /// The range of the message in the bytes, and the end of the message's frame.
    typealias Frame = (message: Range<Int>, end: Int)

    private let find: @Sendable (UnsafeRawBufferPointer) throws -> Frame?
    private let limit: Int
    private var bytes: [UInt8] = []
    private var used = 0

    init(limit: Int, _ find: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Frame?) {
        self.limit = limit
        self.find = find
    }

    mutating func next(in more: inout UnsafeRawBufferPointer) throws -> Data? {
        bytes.append(contentsOf: more.take(more.count))
        guard used < bytes.count else {
            (bytes, used) = ([], 0)
            return nil
        }
        let message = try bytes.withUnsafeBytes { all -> Data? in
            let rest = UnsafeRawBufferPointer(rebasing: all[used...])
            guard let (message, end) = try find(rest) else { return nil }
            guard (1...rest.count).contains(end), message.lowerBound >= 0, message.upperBound <= end else {
                throw RequestError(
                    .malformedMessage,
                    "the framing's closure returned the range \(message) and the end \(end) for \(rest.count) bytes")
            }
            guard end <= limit else { throw Remainder.tooLarge(limit) }
            used += end
            return Data(rest[message])
        }
        if message == nil {
            guard bytes.count - used <= limit else { throw Remainder.tooLarge(limit) }
            bytes.removeFirst(used)
            used = 0
        }
        return message
    }

    mutating func end() throws -> Data? {
        guard used == bytes.count else { throw incompleteMessage }
        return nil
    }
}
