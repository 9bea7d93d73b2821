/// A parser that splits a stream into messages: `.jsonLines`, `.jsonSequence`, `.lengthPrefixed()`,
/// `.serverSentEvents`, `.custom`, or a type of your own.
public protocol MessageFraming: StreamParser where Output == Data {}

extension MessageFraming {
    /// The default maximum size of a message: 16 MiB.
    public static var defaultMaximumSize: Int { 16 << 20 }

    var incompleteMessage: RequestError { RequestError(.incompleteMessage, "the stream ended within the message") }
}

/// A framing of the library, such as `.jsonLines`.
public struct StandardFraming: MessageFraming {
    /// The byte order of a length.
    public enum Endianness: Sendable {
        /// Most significant byte first, as in most protocols.
        case big
        /// Least significant byte first.
        case little
    }

    private var base: any MessageFraming

    fileprivate init(_ base: any MessageFraming) { self.base = base }

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? { try base.next(in: &bytes) }

    public mutating func end() throws -> Data? { try base.end() }
}

extension MessageFraming where Self == StandardFraming {
    /// A framing of one JSON text per line: NDJSON, JSON Lines. Blank lines are skipped; the last line needs no line
    /// end.
    public static var jsonLines: Self { jsonLines() }
    /// Returns a framing of one JSON text per line, like ``jsonLines``.
    ///
    /// - Parameter maximumSize: The maximum size of a message in bytes; 16 MiB by default.
    public static func jsonLines(maximumSize: Int = defaultMaximumSize) -> Self {
        Self(JSONLinesFraming(limit: maximumSize))
    }

    /// A framing of JSON texts that each begin with a record separator, 0x1E, and end with a line feed:
    /// `application/json-seq` (RFC 7464).
    ///
    /// A text is delivered as soon as its line feed has arrived. A truncated text fails with `.incompleteMessage`. A
    /// text is truncated if a bracket or a string is still open at its end, or if no white space follows a number or a
    /// word: `12` can be the beginning of `1234`.
    public static var jsonSequence: Self { jsonSequence() }
    /// Returns a framing of JSON texts with record separators, like ``jsonSequence``.
    ///
    /// - Parameter maximumSize: The maximum size of a message in bytes; 16 MiB by default.
    public static func jsonSequence(maximumSize: Int = defaultMaximumSize) -> Self {
        Self(JSONSequenceFraming(limit: maximumSize))
    }

    /// Returns a framing of messages that each begin with their length as an unsigned integer.
    ///
    /// - Parameters:
    ///   - bytes: The size of the length in bytes, from 1 to 8; 4 by default.
    ///   - endianness: The byte order of the length; big endian by default.
    ///   - maximumSize: The maximum size of a message in bytes; 16 MiB by default.
    public static func lengthPrefixed(
        bytes: Int = 4, endianness: StandardFraming.Endianness = .big, maximumSize: Int = defaultMaximumSize
    ) -> Self {
        Self(LengthPrefixedFraming(width: bytes, endianness: endianness, limit: maximumSize))
    }

    /// A framing whose messages are the data of server-sent events, without the events' other fields.
    public static var serverSentEvents: Self { serverSentEvents() }
    /// Returns a framing whose messages are the data of server-sent events, like ``serverSentEvents``.
    ///
    /// - Parameter maximumSize: The maximum size of an event in bytes; 16 MiB by default.
    public static func serverSentEvents(maximumSize: Int = defaultMaximumSize) -> Self {
        Self(ServerSentEventFraming(limit: maximumSize))
    }

    /// Returns a framing whose messages the closure finds. The closure gets all bytes that were not consumed yet. It
    /// returns the range of the first message and the end of that message's frame, or nil if it needs more bytes.
    ///
    ///     let zeroTerminated = StandardFraming.custom { bytes in
    ///         bytes.firstIndex(of: 0).map { (0..<$0, $0 + 1) }
    ///     }
    public static func custom(
        maximumSize: Int = defaultMaximumSize,
        _ find: @escaping @Sendable (UnsafeRawBufferPointer) throws -> (message: Range<Int>, end: Int)?
    ) -> Self {
        Self(CustomFraming(limit: maximumSize, find))
    }
}

/// A framing whose messages are the data of server-sent events.
struct ServerSentEventFraming: MessageFraming {
    private var parser: ServerSentEventParser

    init(limit: Int) { parser = ServerSentEventParser(maximumEventSize: limit) }

    mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? {
        try parser.next(in: &bytes).map { Data($0.data.utf8) }
    }

    mutating func end() -> Data? { nil }
}
