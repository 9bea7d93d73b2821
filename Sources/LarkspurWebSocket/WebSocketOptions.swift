/// The settings of a ``WebSocketRequest``.
///
///     let socket = await session.webSocket(url, options: .init { $0.pingInterval = .seconds(20) })
public struct WebSocketOptions: Sendable {
    /// The pause between two pings; nil by default, so that only ``WebSocketRequest/ping()`` sends pings.
    ///
    /// Pings detect a peer that has vanished silently, and keep firewalls from forgetting an idle connection.
    public var pingInterval: Duration?
    /// The maximum time from a ping to its pong; 10 seconds by default. If the pong of a ping of ``pingInterval`` is
    /// late, the connection ends with `.connectionLost`. If the pong of ``WebSocketRequest/ping()`` is late, that call
    /// throws `.timedOut`, and the connection stays open.
    ///
    /// The time does not pass while full buffers pause the reading, because the pong may wait behind unread messages,
    /// nor while the bytes of a long message arrive.
    public var pongTimeout = Duration.seconds(10)
    /// The maximum time to wait for the peer's answer to a close; 5 seconds by default. When it passes, the connection
    /// is closed without the answer.
    public var closeTimeout = Duration.seconds(5)
    /// The maximum size of a received message in bytes, after decompression; 16 MiB by default. A larger message closes
    /// the connection with the code 1009, and the request fails with `.messageTooLarge`.
    public var maximumMessageSize = 16 << 20
    /// The number of bytes of received messages from which the server has to wait for a reader (back pressure); 1 MiB
    /// by default. At least one message is always received.
    public var receiveBufferSize = 1 << 20
    /// The number of bytes of messages to send from which ``WebSocketRequest/send(_:)-(String)`` waits; 1 MiB by
    /// default. At least one message is always accepted.
    public var sendBufferSize = 1 << 20
    /// The compression of messages to offer to the server; ``WebSocketCompression/deflate`` by default. Nil offers no
    /// compression.
    public var compression: WebSocketCompression? = .deflate
    /// The rules for connecting again after the connection was lost; nil by default, so that a lost connection ends the
    /// request.
    public var reconnection: WebSocketReconnection?

    /// Creates options with default values, which the closure can change.
    public init(_ configure: (inout WebSocketOptions) -> Void = { _ in }) { configure(&self) }
}

/// The rules by which a ``WebSocketRequest`` connects again after it has lost its connection.
///
///     $0.reconnection = .backoff(limit: .max)
///
/// Each connection is another attempt of the same request: it is built and adapted again, so it gets the current
/// credentials.
public struct WebSocketReconnection: Sendable {
    /// The treatment of messages that were accepted by `send` and not yet sent when the connection was lost.
    ///
    /// A message counts as sent when the transport has taken it. Whether the server has received it is unknown, because
    /// WebSocket has no acknowledgements.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum UnsentMessages: Sendable, Hashable {
        /// Drops the messages. The next `send` throws `.messagesNotSent`, and monitors get the event
        /// ``WebSocketEvent/dropMessages(_:)``.
        case fail
        /// Keeps the messages, and sends them first over the next connection. If they are larger than this number of
        /// bytes, the oldest messages are dropped as by ``fail``.
        case keep(upTo: Int)
    }

    /// The maximum number of reconnections in a row; no limit by default. Each follows a failed attempt, or a
    /// connection that ended before it had received anything.
    public var limit = Int.max
    /// The delays before the attempts; up to 0.5, 1, 2, 4 seconds and so on, at most 30 seconds, by default.
    public var backoff = RetryPolicy.Backoff()
    /// The longest `Retry-After` of a refused handshake to wait for; 5 minutes by default. A longer one ends the
    /// request.
    public var maximumRetryAfter = Duration.seconds(300)
    /// The statuses of refused handshakes after which the request connects again. By default, these statuses say that
    /// the server is overloaded or unavailable.
    public var statusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    /// The codes of the server's close after which the request connects again. By default, these codes say that the
    /// server is going away or has failed. The code 1006 stands for an open connection that was lost without a close,
    /// or whose ping was not answered.
    public var closeCodes: Set<WebSocketCloseCode> = [
        .goingAway, .abnormal, .internalError, .serviceRestart, .tryAgainLater, .badGateway,
    ]
    /// The treatment of messages that were not sent when the connection was lost; ``UnsentMessages/fail`` by default.
    public var unsentMessages = UnsentMessages.fail
    /// A closure that runs after each opening, the first included, before any message of `send` is sent. Use it to log
    /// in or to subscribe again. If it throws, the connection is closed, and the request fails with this error.
    ///
    /// Messages are received after the closure has returned. Its task is cancelled if the connection ends before.
    public var onOpen: (@Sendable (WebSocketOpening) async throws -> Void)?

    /// Creates rules with default values, which the closure can change.
    public init(_ configure: (inout WebSocketReconnection) -> Void = { _ in }) { configure(&self) }

    /// Returns rules with growing, random delays.
    ///
    /// - Parameter limit: The maximum number of reconnections in a row (``limit``).
    public static func backoff(limit: Int) -> WebSocketReconnection { WebSocketReconnection { $0.limit = limit } }
}

/// A connection that has just opened, for ``WebSocketReconnection/onOpen``.
public struct WebSocketOpening: Sendable {
    /// The head of the response to the handshake.
    public let head: ResponseHead
    /// The protocol that the server has chosen; nil if it has chosen none.
    public let negotiatedProtocol: String?
    /// The number of the connection, from 1.
    public let number: Int
    let socket: WebSocketCore
    /// The attempt to connect that has opened the connection.
    let attempt: UInt64

    /// Sends a text message before all messages of ``WebSocketRequest/send(_:)-(String)``.
    nonisolated(nonsending) public func send(_ text: String) async throws {
        try await socket.send(.text(text), hook: attempt)
    }

    /// Sends a binary message before all messages of ``WebSocketRequest/send(_:)-(String)``.
    nonisolated(nonsending) public func send(_ data: Data) async throws {
        try await socket.send(.data(data), hook: attempt)
    }

    /// Sends a value as JSON text before all messages of ``WebSocketRequest/send(_:)-(String)``.
    nonisolated(nonsending) public func send(
        json value: some Encodable & Sendable, encoder: JSON.Encoder = JSON.Encoder()
    ) async throws {
        try await socket.send(.json { try encoder.encode(value) }, hook: attempt)
    }

    /// Sends a value as JSON text that a `JSONEncoder` makes, before all messages of
    /// ``WebSocketRequest/send(_:)-(String)``.
    nonisolated(nonsending) public func send(
        json value: some Encodable & Sendable, encoder: JSONEncoder
    ) async throws {
        try await socket.send(.json { try encoder.encode(value) }, hook: attempt)
    }
}
