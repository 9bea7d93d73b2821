/// A WebSocket connection: a request whose handshake switches the protocol, and that then sends and receives messages.
///
///     let socket = await session.webSocket("wss://chat.example.com/room")
///     try await socket.send("hello")
///     for try await message in socket.messages { … }
///
/// The handshake is an ordinary exchange: it has the session's adapters, credentials, cookies, redirects, trust,
/// proxies, timeouts, validators and monitors. The total and attempt timeouts cover the handshake only. The request is
/// lazy: it starts when the first reader iterates, when a message is sent, when ``opened`` or ``closed`` is awaited, or
/// when ``Request/resume()`` is called.
///
/// Like every request, a started one goes on without a reference to it or to its session. So close a connection that
/// has no reader, or cancel it: otherwise it stays open until the server or ``Session/invalidate()`` ends it.
///
/// See <doc:WebSocketConnections>.
public final class WebSocketRequest: Request {
    @_documentation(visibility: internal)
    public let handle: RequestHandle
    let socket: WebSocketCore

    init(core: RequestCore, socket: WebSocketCore) {
        handle = RequestHandle(core: core)
        self.socket = socket
        socket.attach(core)
        core.adopt(self)
    }

    // MARK: State

    /// The head of the response with which the server has accepted the handshake. Starts the request, and waits until
    /// the connection is open. Throws if the request ends without an open connection.
    nonisolated(nonsending) public var opened: ResponseHead {
        get async throws {
            handle.core.demand()
            return try await socket.opened()
        }
    }

    /// The protocol that the server has chosen of those offered; nil before the opening, or if it has chosen none.
    public var negotiatedProtocol: String? { socket.agreement?.protocol }

    /// The end of the request. Starts the request, and waits until it has finished.
    ///
    /// A request that failed before it was open, or was cancelled, has the code ``WebSocketCloseCode/abnormal``;
    /// ``Request/error`` has the reason.
    nonisolated(nonsending) public var closed: WebSocketClose {
        get async {
            handle.core.demand()
            return await socket.closed()
        }
    }

    /// The current state.
    public var state: WebSocketState { socket.state }

    /// The current state, and then each new state until the request has finished.
    public var states: AsyncStream<WebSocketState> { socket.follow() }

    // MARK: Receiving

    /// The received messages in order. The sequence ends when the connection was closed cleanly, and otherwise throws a
    /// ``RequestError``.
    ///
    /// Each access creates a separate reader, which gets all messages that arrive after its creation; the first reader
    /// also gets those that have arrived before. While a reader's buffer is full, the server has to wait (back
    /// pressure). When the last reader leaves its loop or is cancelled, the connection is closed with the code 1001.
    public var messages: WebSocketMessages { messages(automaticallyClosing: true) }

    /// Returns the received messages, like ``messages``.
    ///
    /// - Parameter automaticallyClosing: Whether the connection is closed with the code 1001 when it has no reader any
    ///   more. If false, it stays open, and the next reader gets the messages from where the last one has ended. Until
    ///   then, they wait, as they do before the first reader.
    public func messages(automaticallyClosing: Bool) -> WebSocketMessages {
        WebSocketMessages(WebSocketMessageReader(self, automaticallyClosing: automaticallyClosing))
    }

    /// Returns the received messages, decoded from JSON or with another decoder. A message that cannot be decoded ends
    /// the sequence with `.decodingFailed`.
    ///
    ///     for try await move in socket.messages(of: Move.self) { … }
    public func messages<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil, automaticallyClosing: Bool = true
    ) -> AsyncThrowingMapSequence<WebSocketMessages, Value> {
        let decoder = decoder ?? handle.core.context.configuration.decoder
        return messages(automaticallyClosing: automaticallyClosing).map { message in
            do {
                return try decoder.decode(Value.self, from: message.bytes)
            } catch {
                throw RequestError(
                    .decodingFailed,
                    "the message cannot be decoded as \(Value.self): \(DecodingProblem.description(of: error))",
                    underlying: error)
            }
        }
    }

    // MARK: Sending

    /// Sends a text message.
    ///
    /// Messages are sent in the order of the calls. The function returns when the queue has accepted the message, and
    /// waits while the queue is full. Before the opening, accepted messages wait for it. If the connection is lost
    /// later, the next call throws, and ``closed`` and the monitors tell.
    nonisolated(nonsending) public func send(_ text: String) async throws { try await send(.text(text)) }

    /// Sends a binary message, like ``send(_:)-(String)``.
    nonisolated(nonsending) public func send(_ data: Data) async throws { try await send(.data(data)) }

    /// Sends a message, like ``send(_:)-(String)``.
    nonisolated(nonsending) public func send(_ message: WebSocketMessage) async throws {
        handle.core.demand()
        try await socket.send(message)
    }

    /// Sends a value as JSON text, like ``send(_:)-(String)``.
    nonisolated(nonsending) public func send(
        json value: some Encodable & Sendable, encoder: JSON.Encoder = JSON.Encoder()
    ) async throws {
        try await send(.json { try encoder.encode(value) })
    }

    /// Sends a value as JSON text that a `JSONEncoder` makes, like ``send(_:)-(String)``.
    nonisolated(nonsending) public func send(
        json value: some Encodable & Sendable, encoder: JSONEncoder
    ) async throws {
        try await send(.json { try encoder.encode(value) })
    }

    /// Sends a ping, waits for its pong, and returns the time between them. Waits for the opening first.
    ///
    /// Throws `.timedOut` if the pong does not arrive within ``WebSocketOptions/pongTimeout``.
    nonisolated(nonsending) public func ping() async throws -> Duration {
        handle.core.demand()
        return try await socket.ping()
    }

    /// Sends the accepted messages and then a close, and waits until the connection has ended. Received messages are
    /// discarded meanwhile. Waits at most ``WebSocketOptions/closeTimeout`` for the server's answer.
    ///
    /// A request that is not open yet, or waits before it connects again, ends at once. A request that has ended is not
    /// changed.
    ///
    /// - Parameters:
    ///   - code: The code. It must be allowed to be sent (``WebSocketCloseCode/mayBeSent``).
    ///   - reason: A short text for the server's developers. It is cut to 123 bytes of UTF-8.
    nonisolated(nonsending) public func close(
        _ code: WebSocketCloseCode = .normal, reason: String = ""
    ) async throws {
        guard code.mayBeSent else {
            throw RequestError(.invalidRequest, "the close code \(code) may not be sent; use 1000 or 3000 to 4999")
        }
        socket.beginClose(code, reason)
        _ = await socket.closed()
    }
}

extension WebSocketMessage {
    /// Returns a text message with the JSON that the closure encodes.
    static func json(_ encode: () throws -> Data) throws(RequestError) -> WebSocketMessage {
        do {
            return .text(String(decoding: try encode(), as: UTF8.self))
        } catch {
            throw RequestError(.encodingFailed, "the message cannot be encoded as JSON", underlying: error)
        }
    }

    /// The memory that a message takes in a buffer, in bytes.
    var bufferedSize: Int { size + 64 }

    fileprivate var bytes: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .data(let data): data
        }
    }
}

/// The received messages of a ``WebSocketRequest``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    public typealias Element = WebSocketMessage

    private let request: WebSocketRequest
    private let automaticallyClosing: Bool
    private let reserved: Protected<WebSocketMessageReader?>

    init(_ reader: WebSocketMessageReader) {
        request = reader.request
        automaticallyClosing = reader.automaticallyClosing
        reserved = Protected(reader)
    }

    /// Returns an iterator. The first iterator gets all messages since the sequence was created. Each later iterator
    /// gets only the messages that arrive after this call.
    public func makeAsyncIterator() -> Iterator {
        let reader = reserved.withLock { $0.take() }
        return Iterator(reader: reader ?? WebSocketMessageReader(request, automaticallyClosing: automaticallyClosing))
    }

    /// An iterator over the messages.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: WebSocketMessageReader

        /// Waits for the next message and returns it. Returns nil after a clean close.
        public mutating func next() async throws -> WebSocketMessage? { try await reader.next(isolation: nil) }

        /// Waits for the next message on the caller's actor and returns it. Returns nil after a clean close.
        @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> WebSocketMessage? {
            try await reader.next(isolation: actor)
        }
    }
}
