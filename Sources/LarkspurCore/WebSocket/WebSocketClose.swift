/// The end of a WebSocket connection.
public struct WebSocketClose: Sendable, Hashable {
    /// The code of the close that began the end. It is ``WebSocketCloseCode/abnormal`` if the connection ended without
    /// a close, and ``WebSocketCloseCode/noStatus`` if the peer gave no code.
    public let code: WebSocketCloseCode
    /// The peer's or the caller's text for the close; often empty.
    public let reason: String
    /// Whether both sides have sent a close.
    public let isClean: Bool
    /// Whether the peer's close came first.
    public let byPeer: Bool

    /// Creates a description of an end, for tests.
    public init(code: WebSocketCloseCode, reason: String = "", isClean: Bool, byPeer: Bool) {
        self.code = code
        self.reason = reason
        self.isClean = isClean
        self.byPeer = byPeer
    }

    static let lost = WebSocketClose(code: .abnormal, isClean: false, byPeer: false)
}

extension WebSocketClose: CustomStringConvertible {
    /// One line, with control characters escaped: `closed by the peer with 1001 going away: bye`.
    public var description: String {
        let party = byPeer ? "the peer" : "the client"
        let text = "closed by \(party) with \(code)" + (reason.isEmpty ? "" : ": \(reason.printable)")
        return isClean ? text : text + ", not cleanly"
    }
}

/// The state of a ``WebSocketRequest``.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum WebSocketState: Sendable, Hashable {
    /// The request has not started, or the handshake is in flight.
    case connecting
    /// Messages can be sent and received.
    case open
    /// A side has sent a close, and the other has not answered yet.
    case closing
    /// The connection was lost, and the next attempt begins after the delay.
    case waiting(Duration)
    /// The request has finished.
    case closed(WebSocketClose)
}

/// An event of a WebSocket connection, for monitors (``RequestEvent/webSocket(_:)``).
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum WebSocketEvent: Sendable, Hashable {
    /// The handshake has succeeded. The values are the chosen protocol, and whether messages are compressed.
    case open(protocol: String?, isCompressed: Bool)
    /// A message was accepted for sending, with its number of bytes.
    case sendMessage(Int)
    /// A message was received, with its number of bytes after decompression.
    case receiveMessage(Int)
    /// A ping was sent.
    case sendPing
    /// The peer's ping was received and is answered.
    case receivePing
    /// The pong for a ping was received, after this time.
    case receivePong(after: Duration)
    /// The connection was lost before this number of accepted messages was sent. They are not sent again.
    case dropMessages(Int)
    /// The connection has ended.
    case close(WebSocketClose)
}
