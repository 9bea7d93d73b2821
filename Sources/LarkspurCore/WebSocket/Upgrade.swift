/// The upgrade that the handshake of a WebSocket asks for.
///
/// All values are equal, because options are compared without regard to the bytes of one attempt.
struct Upgrade: Sendable, Hashable {
    let socket: WebSocketCore
    /// The number of the attempt to connect, whose bytes are sent.
    let attempt: UInt64

    func apply(to request: inout TransportRequest) {
        request.upgrades = true
        request.body = .stream(
            TransportBodySource(length: nil, isReplayable: true) { [socket, attempt] in
                WebSocketStream(socket, attempt: attempt)
            })
        request.translator = { [socket] in
            WebSocketTranslator(
                key: socket.link.withLock { $0.key }, maximumMessageSize: socket.options.maximumMessageSize)
        }
    }

    static func == (lhs: Upgrade, rhs: Upgrade) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

extension RequestURL {
    /// Returns the URL for a redirect of this request. The handshake of a WebSocket may be redirected to a `wss` URL.
    func forHandshake(of request: OutgoingRequest) -> RequestURL {
        request.options.upgrade == nil ? self : forHandshake
    }
}

extension RequestError {
    /// The code with which the connection was closed because the server violated the WebSocket protocol; nil for other
    /// errors.
    public var webSocketCloseCode: WebSocketCloseCode? { (underlying as? WebSocketViolation)?.code }
}
