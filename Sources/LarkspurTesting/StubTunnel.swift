import Larkspur

/// The upgraded connection of a stub's task: the bytes of both directions between the client and a ``MockWebSocket``.
struct StubTunnel {
    /// The next action of the task.
    enum Action { case deliver(Data), read, end(TransportError?), wait }

    private enum End { case none, peer, reset, body }

    let socket: MockWebSocket
    /// The bytes that the client sends.
    var stream: (any TransportBodyStream)?
    /// Whether the stream may have bytes that were not read yet.
    var mayHaveBytes = true
    /// Whether the peer reads the client's bytes.
    var isPeerReading = true
    /// The pieces that the peer has sent and the task has not delivered.
    private var pieces: ArraySlice<Data> = []
    private var end = End.none

    init(_ socket: MockWebSocket) { self.socket = socket }

    mutating func add(_ bytes: Data) {
        if case .none = end { pieces.append(bytes) }
    }

    mutating func endByPeer(isReset: Bool) {
        if case .none = end { end = isReset ? .reset : .peer }
    }

    mutating func endByBody() { end = .body }

    /// Returns the next action of a task that is not suspended.
    ///
    /// - Parameter hasRoom: Whether the task may deliver a piece.
    mutating func next(hasRoom: Bool) -> Action {
        switch end {
        case .body: return .end(nil)
        case .reset: return .end(TransportError(.connectionLost, "the peer reset the connection", phase: .receiving))
        case .none, .peer: break
        }
        if hasRoom, let piece = pieces.popFirst() { return .deliver(piece) }
        if case .peer = end { return pieces.isEmpty ? .end(nil) : .wait }
        guard mayHaveBytes, isPeerReading, stream != nil else { return .wait }
        mayHaveBytes = false
        return .read
    }
}

extension StubAnswer {
    /// Returns the answer that accepts a WebSocket and then runs the handler; if the request is no valid handshake, the
    /// answer that refuses it.
    ///
    ///     let session = Session(transport: StubTransport { request in
    ///         .webSocket(answering: request) { socket in
    ///             for await message in socket.messages { socket.send(message) }
    ///         }
    ///     })
    ///
    /// - Parameters:
    ///   - protocols: The protocols that the server supports, by preference.
    ///   - compression: The compression that the server accepts; nil refuses it.
    ///   - handler: The server's end. When it returns, the connection is closed with the code 1000; when it throws,
    ///     with 1011.
    public static func webSocket(
        answering request: TransportRequest, protocols: [String] = [], compression: WebSocketCompression? = .deflate,
        handler: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) -> StubAnswer {
        let request = MockRequest(
            method: request.method, target: String(request.url.target), version: "HTTP/1.1",
            headers: HTTPHeaders(request.fields.map { HTTPHeader(name: $0.name, value: $0.value) }))
        do throws(WebSocketRejection) {
            let (agreement, fields) = try WebSocketHandshake.accept(
                method: request.method, request.headers, protocols: protocols, compression: compression)
            let head = ResponseHead(status: 101, fields: Array(fields))
            return StubAnswer([.head(head), .webSocket(MockWebSocket(request, agreement), handler: handler)])
        } catch {
            return .text(error.reason, status: error.status)
        }
    }
}
