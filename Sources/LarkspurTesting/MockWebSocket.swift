import Larkspur

/// The server's end of a WebSocket, for the handler of ``MockServer/webSocket(_:protocols:compression:handler:)``.
///
///     server.webSocket("/echo") { socket in
///         for await message in socket.messages { socket.send(message) }
///     }
///
/// Functions that send never wait: the bytes are buffered until the client reads them. Pings of the client are
/// answered, unless ``answersPings`` is false.
public final class MockWebSocket: Sendable {
    /// The connection under a WebSocket.
    struct Wire: Sendable {
        let write: @Sendable (Data) -> Void
        /// Ends the connection after the written bytes, or at once with a reset.
        let end: @Sendable (_ isReset: Bool) -> Void
        let setReading: @Sendable (Bool) -> Void
    }

    private struct State {
        var writer: WebSocketWriter
        var wire: Wire?
        /// The bytes that were sent before the connection was attached.
        var unwritten: [Data] = []
        var answersPings = true
        var hasSentClose = false
        var close: WebSocketClose?
        var pings = 0
        var pongs: [Data] = []
        var closeWaiters: [(number: Int, continuation: Continuation<Void>)] = []
        var numbers = 0
        var isOver = false
        var ends: Bool?
    }

    /// The request of the handshake.
    public let request: MockRequest
    /// The protocol that was agreed on; nil if there is none.
    public let negotiatedProtocol: String?
    /// The client's messages in order, for one reader. The sequence ends when the client closes or the connection ends.
    public let messages: AsyncStream<WebSocketMessage>

    private let received: AsyncStream<WebSocketMessage>.Continuation
    private let reader: Protected<WebSocketReader>
    private let box: Protected<State>

    init(_ request: MockRequest, _ agreement: WebSocketAgreement) {
        self.request = request
        negotiatedProtocol = agreement.protocol
        (messages, received) = AsyncStream.makeStream()
        reader = Protected(WebSocketReader(role: .server, maximumMessageSize: .max, deflate: agreement.deflate))
        box = Protected(State(writer: WebSocketWriter(role: .server, deflate: agreement.deflate)))
    }

    // MARK: Sending

    /// Sends a message.
    public func send(_ message: WebSocketMessage) {
        write { writer, queue in try? writer.write(message, into: &queue) }
    }

    /// Sends a text message.
    public func send(_ text: String) { send(.text(text)) }

    /// Sends a binary message.
    public func send(_ data: Data) { send(.data(data)) }

    /// Sends a ping.
    public func ping(_ payload: Data = Data()) { write { $0.writePing(payload, into: &$1) } }

    /// Sends a close, and waits for the client's close or the end of the connection.
    public func close(_ code: WebSocketCloseCode = .normal, reason: String = "") async {
        sendClose(code, reason)
        await closed()
    }

    /// Sends a close without waiting for the client's.
    public func sendClose(_ code: WebSocketCloseCode, _ reason: String = "") {
        write(isClose: true) { $0.writeClose(code, reason: reason, into: &$1) }
    }

    /// Waits until the client has closed, or the connection has ended.
    public func closed() async {
        let number = box.withLock { state in
            state.numbers += 1
            return state.numbers
        }
        await suspended { (continuation: Continuation<Void>) in
            let isOver = box.withLock { state in
                if !state.isOver { state.closeWaiters.append((number, continuation)) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        } onCancel: {
            let waiter = box.withLock { state in
                state.closeWaiters.firstIndex { $0.number == number }.map { state.closeWaiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }

    // MARK: Observing

    /// The client's close; nil until it has arrived.
    public var close: WebSocketClose? { box.withLock { $0.close } }

    /// The number of pings that the client has sent.
    public var pingCount: Int { box.withLock { $0.pings } }

    /// The payloads of the pongs that the client has sent, in order.
    public var pongs: [Data] { box.withLock { $0.pongs } }

    // MARK: Faults

    /// Whether pings of the client are answered; true by default.
    public var answersPings: Bool {
        get { box.withLock { $0.answersPings } }
        set { box.withLock { $0.answersPings = newValue } }
    }

    /// Sends these bytes unchanged, for example a frame that violates the protocol.
    public func send(raw bytes: Data) { write(bytes) }

    /// Sends the head of a binary frame that declares this length, and none of its payload.
    public func sendFrameHead(declaring length: UInt64) {
        write(Data([0x82, 127]) + withUnsafeBytes(of: length.bigEndian) { Data($0) })
    }

    /// Stops or continues reading. While the server does not read, the client's messages wait in the system's buffers
    /// and then in the client.
    public func setReading(_ reads: Bool) { wire?.setReading(reads) }

    /// Ends the connection without a close, after the bytes that were sent before.
    public func cut() { end(false) }

    /// Ends the connection with a reset.
    public func reset() { end(true) }

    // MARK: The connection's side

    private var wire: Wire? { box.withLock { $0.wire } }

    private func end(_ isReset: Bool) {
        let wire = box.withLock { state in
            state.ends = isReset
            return state.wire
        }
        wire?.end(isReset)
    }

    func attach(_ wire: Wire) {
        let (bytes, ends) = box.withLock { state in
            state.wire = wire
            defer { state.unwritten = [] }
            return (state.unwritten, state.ends)
        }
        for piece in bytes { wire.write(piece) }
        if let ends { wire.end(ends) }
    }

    private func write(isClose: Bool = false, _ body: (inout WebSocketWriter, inout ByteQueue) -> Void) {
        let bytes = box.withLock { state -> Data in
            guard !state.hasSentClose else { return Data() }
            state.hasSentClose = isClose
            var queue = ByteQueue()
            body(&state.writer, &queue)
            return queue.takeAll()
        }
        write(bytes)
    }

    private func write(_ bytes: Data) {
        guard !bytes.isEmpty else { return }
        let wire = box.withLock { state in
            if state.wire == nil { state.unwritten.append(bytes) }
            return state.wire
        }
        wire?.write(bytes)
    }

    /// Parses bytes of the client.
    func receive(_ bytes: Data) {
        var events: [WebSocketReader.Event] = []
        let violation = reader.withLock { reader -> WebSocketViolation? in
            bytes.withUnsafeBytes { bytes in
                do throws(WebSocketViolation) {
                    _ = try reader.read(bytes) {
                        events.append($0)
                        return true
                    }
                    return nil
                } catch {
                    return error
                }
            }
        }
        for event in events { handle(event) }
        guard let violation else { return }
        sendClose(violation.code, violation.message)
        didEnd()
        wire?.end(false)
    }

    private func handle(_ event: WebSocketReader.Event) {
        switch event {
        case .message(let message, _): received.yield(message)
        case .ping(let payload):
            let answers = box.withLock { state in
                state.pings += 1
                return state.answersPings
            }
            if answers { write { $0.writePong(payload, into: &$1) } }
        case .pong(let payload): box.withLock { $0.pongs.append(payload) }
        case .close(let code, let reason):
            let isFirst = box.withLock { state in
                state.close = WebSocketClose(code: code, reason: reason, isClean: true, byPeer: !state.hasSentClose)
                return !state.hasSentClose
            }
            if isFirst { sendClose(code) }
            didEnd()
            wire?.end(false)
        }
    }

    /// Ends the messages and all waits, because the client has closed or the connection has ended.
    func didEnd() {
        let waiters = box.withLock { state in
            state.isOver = true
            defer { state.closeWaiters = [] }
            return state.closeWaiters
        }
        received.finish()
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Runs the handler, and then closes the connection.
    func run(_ handler: @Sendable (MockWebSocket) async throws -> Void) async {
        do {
            try await handler(self)
            await close()
        } catch {
            sendClose(.internalError, "\(error)")
            await closed()
        }
    }
}

extension MockServer {
    /// Accepts WebSockets at this path. Each connection runs the handler. When it returns, the connection is closed
    /// with the code 1000; when it throws, with 1011.
    ///
    ///     server.webSocket("/echo") { socket in
    ///         for await message in socket.messages { socket.send(message) }
    ///     }
    ///
    /// - Parameters:
    ///   - protocols: The protocols that the server supports, by preference.
    ///   - compression: The compression that the server accepts; nil refuses it.
    public func webSocket(
        _ path: String, protocols: [String] = [], compression: WebSocketCompression? = .deflate,
        handler: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) {
        on("GET", path) { request in
            .webSocket(answering: request, protocols: protocols, compression: compression, handler: handler)
        }
    }
}

extension MockResponse {
    /// Returns the response that accepts a WebSocket and then runs the handler; if the request is no valid handshake,
    /// the response that refuses it.
    public static func webSocket(
        answering request: MockRequest, protocols: [String] = [], compression: WebSocketCompression? = .deflate,
        handler: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) -> MockResponse {
        do throws(WebSocketRejection) {
            let (agreement, fields) = try WebSocketHandshake.accept(
                method: request.method, request.headers, protocols: protocols, compression: compression)
            let head = ResponseHead(status: 101, fields: Array(fields))
            return MockResponse([.head(head), .webSocket(MockWebSocket(request, agreement), handler)])
        } catch {
            return .response(error.status, headers: error.headers, chunks: [Data(error.reason.utf8)])
        }
    }
}
