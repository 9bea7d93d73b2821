/// The bytes that a request sends after the server has switched to another protocol.
///
/// All values are equal, because options are compared without regard to the bytes of one attempt.
struct Upgrade: Sendable, Hashable {
    let source: TransportBodySource

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
