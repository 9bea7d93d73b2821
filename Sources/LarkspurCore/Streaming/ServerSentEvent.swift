/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID, which tells the server where a later connection continues. An event without its own ID has
    /// the ID of the previous event; the ID is empty if no event had one.
    public var id: String
    /// The event type; `message` if the server sets none.
    public var event: String
    /// The event's data. Several `data` lines are joined with line feeds.
    public var data: String
    /// The reconnection time that the server has sent with the event; nil if there was none.
    public var retry: Duration?

    /// Creates an event, for previews and tests.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }

    /// Returns the event's data, decoded as a value of the given type.
    ///
    /// - Throws: ``RequestError`` with the code `.decodingFailed`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: any DataDecoder = JSON.Decoder()
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: Data(data.utf8))
        } catch {
            throw RequestError(
                .decodingFailed,
                "the event's data cannot be decoded as \(type): \(DecodingProblem.description(of: error))",
                underlying: error)
        }
    }
}

/// A parser of a `text/event-stream` by the HTML standard, for chunks of any size.
///
///     var parser = ServerSentEventParser()
///     for event in try parser.parse(chunk) { print(event.data) }
///
/// Lines end with `\r\n`, `\n` or `\r`. An event ends with an empty line; the parser drops an unfinished event at the
/// end of the stream. Bytes that are not UTF-8 become U+FFFD.
public struct ServerSentEventParser: StreamParser {
    /// The default maximum size of an event: 16 MiB.
    public static let defaultMaximumEventSize = 16 << 20

    private static let maximumIDSize = 4 << 10

    /// The ID of the last complete event block, which a later connection sends as `Last-Event-ID`; empty if there is
    /// none. An ID of more than 4 KiB is ignored.
    public private(set) var lastEventID: String
    /// The last reconnection time from the server; nil if there was none.
    public private(set) var reconnectionTime: Duration?

    /// A closure that is called with each comment. A comment is a line that begins with a colon; the closure gets the
    /// text without the colon and one space after it. Servers send comments to keep a connection alive.
    public var onComment: (@Sendable (String) -> Void)?

    private var remainder: Remainder
    private var isAtStart = true
    /// Whether the last byte was a carriage return. A line feed that follows is part of the same line end, even if that
    /// line feed is in the next chunk.
    private var skipsLineFeed = false

    // The state of the block of lines that is being read, which becomes one event
    private var data = ""
    /// The size of the block's data lines in bytes as received, plus one byte for each line end; 0 without data lines.
    private var dataSize = 0
    private var type = ""
    private var id: String
    private var retry: Duration?

    /// Creates a parser.
    ///
    /// - Parameters:
    ///   - lastEventID: The last event ID of the previous connection; empty by default.
    ///   - maximumEventSize: The maximum size of an event's data and of a line, in bytes; 16 MiB by default. A larger
    ///     event or line fails with `.messageTooLarge`.
    public init(lastEventID: String = "", maximumEventSize: Int = defaultMaximumEventSize) {
        self.lastEventID = lastEventID
        id = lastEventID
        remainder = Remainder(limit: maximumEventSize)
    }

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        while !bytes.isEmpty {
            if skipsLineFeed {
                skipsLineFeed = false
                if bytes[0] == 0x0A { _ = bytes.take(1) }
            }
            guard let end = bytes.firstLineEnd() else {
                try remainder.keep(&bytes)
                return nil
            }
            let last = bytes.take(end)
            skipsLineFeed = bytes.take(1)[0] == 0x0D
            let event =
                remainder.isWhole(last)
                ? try read(last) : try remainder.completed(with: last).withUnsafeBytes { try read($0) }
            if let event { return event }
        }
        return nil
    }

    /// Returns nil, because an event that no empty line has ended is dropped.
    public mutating func end() -> ServerSentEvent? { nil }

    /// A parser for the next connection, with the last event ID and the settings of this one.
    var forNextBody: ServerSentEventParser {
        var next = ServerSentEventParser(lastEventID: lastEventID, maximumEventSize: remainder.limit)
        next.reconnectionTime = reconnectionTime
        next.onComment = onComment
        return next
    }

    /// Reads a line. An empty line ends the event, which is then returned.
    private mutating func read(_ line: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        var value = line
        if isAtStart {
            isAtStart = false
            if line.starts(with: ByteOrderMark.utf8) { _ = value.take(ByteOrderMark.utf8.count) }
        }
        if value.isEmpty { return endBlock() }
        if let text = value.data {
            try addData(text)
            return nil
        }
        let name = value.take(value.firstIndex(ofByte: UInt8(ascii: ":")) ?? value.count)
        if !value.isEmpty { _ = value.take(value.count > 1 && value[1] == 0x20 ? 2 : 1) }
        if name.isEmpty {
            onComment?(String(decoding: value, as: UTF8.self))
        } else if name.isEqual(to: "data") {
            try addData(value)  // a data line without a colon
        } else if name.isEqual(to: "event") {
            type = String(decoding: value, as: UTF8.self)
        } else if name.isEqual(to: "id") {
            // A longer ID is ignored, like one with a NUL: each reconnection would send it back.
            if value.count <= Self.maximumIDSize, value.firstIndex(ofByte: 0) == nil {
                id = String(decoding: value, as: UTF8.self)
            }
        } else if name.isEqual(to: "retry") {
            if let milliseconds = Int64(digits: value) {
                retry = .milliseconds(milliseconds)
                reconnectionTime = retry
            }
        }
        return nil
    }

    /// Adds one line of data. Each line is decoded separately: a character cannot continue after a line end.
    private mutating func addData(_ line: UnsafeRawBufferPointer) throws {
        let limit = remainder.limit
        guard dataSize + line.count <= limit else { throw Remainder.tooLarge(limit) }
        let text = String(decoding: line, as: UTF8.self)
        if dataSize == 0 {
            data = text
        } else {
            data += "\n"
            data += text
        }
        dataSize += line.count + 1
    }

    private mutating func endBlock() -> ServerSentEvent? {
        lastEventID = id
        var text = ""
        swap(&text, &data)
        defer { (dataSize, type, retry) = (0, "", nil) }
        guard dataSize > 0 else { return nil }
        return ServerSentEvent(id: id, event: type.isEmpty ? "message" : type, data: text, retry: retry)
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes after `data:` and one optional space; nil for other lines. Most lines are `data:` lines, and this
    /// check is faster than the general comparison of field names.
    @inline(__always)
    fileprivate var data: UnsafeRawBufferPointer? {
        let data = UInt32(bigEndian: 0x6461_7461)
        guard count > 4, self[4] == 0x3A, loadUnaligned(as: UInt32.self) == data else { return nil }
        return UnsafeRawBufferPointer(rebasing: self[(count > 5 && self[5] == 0x20 ? 6 : 5)...])
    }
}
