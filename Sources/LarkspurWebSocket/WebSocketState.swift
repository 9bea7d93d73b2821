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
