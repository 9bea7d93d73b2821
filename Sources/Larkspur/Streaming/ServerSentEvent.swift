/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID, which says where a later connection goes on. An event without one of its own has that of the
    /// event before; empty if there was none yet.
    public var id: String
    /// What kind of event it is; `message` unless the server says otherwise.
    public var event: String
    /// The event's data; several lines of it are joined with line feeds.
    public var data: String
    /// The reconnection time that came with the event.
    public var retry: Duration?

    /// An event of one's own, for previews and tests.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }

    /// The data as a value of the caller's type.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: Data(data.utf8))
        } catch {
            throw RequestError(
                .decodingFailed, "the event's data is not a \(type): \(DecodingProblem.words(for: error))",
                underlying: error)
        }
    }
}

/// Reads a `text/event-stream` as the HTML standard says, whatever chunks it comes in.
///
///     var parser = ServerSentEventParser()
///     for event in try parser.parse(chunk) { print(event.data) }
///
/// Lines end with `\r\n`, `\n` or `\r`; an event ends with an empty line, and is lost if the stream ends before. Bytes that
/// are not UTF-8 become U+FFFD.
public struct ServerSentEventParser: StreamParser {
    /// How large an event may be unless one says otherwise: 16 MiB.
    public static let defaultMaximumEventSize = 16 << 20

    /// The ID that a later connection sends as `Last-Event-ID`, of the last block that was complete; empty if there is none.
    public private(set) var lastEventID: String
    /// The last reconnection time that the server asked for.
    public private(set) var reconnectionTime: Duration?

    /// Called with each comment, a line that begins with a colon, without the colon and a space after it. Servers send comments to
    /// keep a connection alive.
    public var onComment: (@Sendable (String) -> Void)?

    private var remainder: Remainder
    private var isAtStart = true
    /// After a carriage return: a line feed belongs to the same line end, also in the next chunk.
    private var skipsLineFeed = false

    // The block that is being read
    private var data = ""
    /// Of all lines of data with their ends, as they came; 0 if there was none.
    private var dataSize = 0
    private var type = ""
    private var id: String
    private var retry: Duration?

    /// - Parameters:
    ///   - lastEventID: Where the connection before this one left off.
    ///   - maximumEventSize: In bytes. Larger data, or a longer line, is a `.messageTooLarge`.
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

    /// Never an event: one that was not ended is not complete.
    public mutating func end() -> ServerSentEvent? { nil }

    /// A parser for the body of a later connection, which goes on where this one's was complete.
    var forNextBody: ServerSentEventParser {
        var next = ServerSentEventParser(lastEventID: lastEventID, maximumEventSize: remainder.limit)
        next.reconnectionTime = reconnectionTime
        next.onComment = onComment
        return next
    }

    /// Reads a line; an empty one ends the event.
    private mutating func read(_ line: UnsafeRawBufferPointer) throws -> ServerSentEvent? {
        var value = line
        if isAtStart {
            isAtStart = false
            if line.starts(with: JSONParser.byteOrderMark) { _ = value.take(JSONParser.byteOrderMark.count) }
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
            try addData(value)  // which it is without a colon, too
        } else if name.isEqual(to: "event") {
            type = String(decoding: value, as: UTF8.self)
        } else if name.isEqual(to: "id") {
            if value.firstIndex(ofByte: 0) == nil { id = String(decoding: value, as: UTF8.self) }
        } else if name.isEqual(to: "retry") {
            if let milliseconds = Int64(digits: value) {
                retry = .milliseconds(milliseconds)
                reconnectionTime = retry
            }
        }
        return nil
    }

    /// Line by line: no character goes on behind a line's end, whatever its bytes are.
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
    /// What follows `data:`, as most lines of events begin, without the space before it; nil if something else does.
    @inline(__always)
    fileprivate var data: UnsafeRawBufferPointer? {
        let data = UInt32(bigEndian: 0x6461_7461)
        guard count > 4, self[4] == 0x3A, loadUnaligned(as: UInt32.self) == data else { return nil }
        return UnsafeRawBufferPointer(rebasing: self[(count > 5 && self[5] == 0x20 ? 6 : 5)...])
    }
}
