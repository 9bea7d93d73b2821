/// A parser that splits a stream into messages: `.jsonLines`, `.jsonSequence`, `.lengthPrefixed()`,
/// `.serverSentEvents`, `.custom`, or a type of your own.
public protocol MessageFraming: StreamParser where Output == Data {}

extension MessageFraming {
    /// The default maximum size of a message: 16 MiB.
    public static var defaultMaximumSize: Int { 16 << 20 }

    var incompleteMessage: RequestError { RequestError(.incompleteMessage, "the stream ended within the message") }
}

extension MessageFraming where Self == JSONLinesFraming {
    /// A framing of one JSON text per line: NDJSON, JSON Lines.
    public static var jsonLines: Self { jsonLines() }
    /// Returns a framing of one JSON text per line: NDJSON, JSON Lines.
    ///
    /// - Parameter maximumSize: The maximum size of a message in bytes; 16 MiB by default.
    public static func jsonLines(maximumSize: Int = defaultMaximumSize) -> Self { Self(limit: maximumSize) }
}

extension MessageFraming where Self == JSONSequenceFraming {
    /// A framing of JSON texts with record separators, `application/json-seq`.
    public static var jsonSequence: Self { jsonSequence() }
    /// Returns a framing of JSON texts with record separators, `application/json-seq`.
    ///
    /// - Parameter maximumSize: The maximum size of a message in bytes; 16 MiB by default.
    public static func jsonSequence(maximumSize: Int = defaultMaximumSize) -> Self { Self(limit: maximumSize) }
}

extension MessageFraming where Self == LengthPrefixedFraming {
    /// Returns a framing of messages that each begin with their length as an unsigned integer.
    ///
    /// - Parameters:
    ///   - bytes: The size of the length in bytes, from 1 to 8; 4 by default.
    ///   - endianness: The byte order of the length; big endian by default.
    ///   - maximumSize: The maximum size of a message in bytes; 16 MiB by default.
    public static func lengthPrefixed(
        bytes: Int = 4, endianness: LengthPrefixedFraming.Endianness = .big, maximumSize: Int = defaultMaximumSize
    ) -> Self {
        Self(width: bytes, endianness: endianness, limit: maximumSize)
    }
}

extension MessageFraming where Self == ServerSentEventFraming {
    /// A framing whose messages are the data of server-sent events.
    public static var serverSentEvents: Self { serverSentEvents() }
    /// Returns a framing whose messages are the data of server-sent events.
    ///
    /// - Parameter maximumSize: The maximum size of an event in bytes; 16 MiB by default.
    public static func serverSentEvents(maximumSize: Int = defaultMaximumSize) -> Self { Self(limit: maximumSize) }
}

extension MessageFraming where Self == CustomFraming {
    /// Returns a framing whose messages the closure finds. The closure gets all bytes that were not consumed yet. It
    /// returns the range of the first message and the end of that message's frame, or nil if it needs more bytes.
    ///
    ///     .custom { bytes in
    ///         bytes.firstIndex(of: 0).map { (0..<$0, $0 + 1) }  // zero bytes between messages
    ///     }
    public static func custom(
        maximumSize: Int = defaultMaximumSize,
        _ find: @escaping @Sendable (UnsafeRawBufferPointer) throws -> CustomFraming.Frame?
    ) -> Self {
        Self(limit: maximumSize, find)
    }
}

/// A framing whose messages are the data of server-sent events, without the events' other fields.
public struct ServerSentEventFraming: MessageFraming {
    private var parser: ServerSentEventParser

    init(limit: Int) { parser = ServerSentEventParser(maximumEventSize: limit) }

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? {
        try parser.next(in: &bytes).map { Data($0.data.utf8) }
    }

    public mutating func end() -> Data? { nil }
}
