/// A way to tell the messages of a stream apart: `.jsonLines`, `.jsonSequence`, `.lengthPrefixed()`, `.serverSentEvents`,
/// `.custom`, or a type of your own.
public protocol MessageFraming: StreamParser where Output == Data {}

extension MessageFraming {
    /// How large a message may be unless one says otherwise: 16 MiB.
    public static var defaultMaximumSize: Int { 16 << 20 }

    var incompleteMessage: RequestError { RequestError(.incompleteMessage, "it was cut off") }
}

extension MessageFraming where Self == JSONLinesFraming {
    /// One JSON text a line: NDJSON, JSON Lines.
    public static var jsonLines: Self { jsonLines() }
    /// One JSON text a line: NDJSON, JSON Lines.
    public static func jsonLines(maximumSize: Int = defaultMaximumSize) -> Self { Self(limit: maximumSize) }
}

extension MessageFraming where Self == JSONSequenceFraming {
    /// JSON texts behind record separators, `application/json-seq`.
    public static var jsonSequence: Self { jsonSequence() }
    /// JSON texts behind record separators, `application/json-seq`.
    public static func jsonSequence(maximumSize: Int = defaultMaximumSize) -> Self { Self(limit: maximumSize) }
}

extension MessageFraming where Self == LengthPrefixedFraming {
    /// Messages behind their length, a number of one to eight bytes without a sign.
    public static func lengthPrefixed(
        bytes: Int = 4, endianness: LengthPrefixedFraming.Endianness = .big, maximumSize: Int = defaultMaximumSize
    ) -> Self {
        Self(width: bytes, endianness: endianness, limit: maximumSize)
    }
}

extension MessageFraming where Self == ServerSentEventFraming {
    /// The data of server-sent events.
    public static var serverSentEvents: Self { serverSentEvents() }
    /// The data of server-sent events.
    public static func serverSentEvents(maximumSize: Int = defaultMaximumSize) -> Self { Self(limit: maximumSize) }
}

extension MessageFraming where Self == CustomFraming {
    /// Messages that the closure finds. It is given all bytes that came and were not used, and says where in them the first
    /// message is, and where what belongs to it ends; nil when more bytes are needed.
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

/// The data of server-sent events, for those whose data alone matters.
public struct ServerSentEventFraming: MessageFraming {
    private var parser: ServerSentEventParser

    init(limit: Int) { parser = ServerSentEventParser(maximumEventSize: limit) }

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Data? {
        try parser.next(in: &bytes).map { Data($0.data.utf8) }
    }

    public mutating func end() -> Data? { nil }
}
