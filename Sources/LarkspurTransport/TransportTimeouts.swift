/// The time limits of one hop, with millisecond resolution; nil means no limit.
///
/// The framework enforces the request's limits that span hops and attempts. A hop's `total` is the time that these
/// limits still leave. The clocks start with the hop: waiting for a connection slot of the host does not count.
public struct TransportTimeouts: Sendable, Hashable {
    /// The limit from the start until the connection is established, TLS handshake included; 30 seconds by default.
    @CompactDuration(seconds: 30) public var connect: Duration?

    /// The limit until the response's head arrives, from the start or, if later, from the end of the request's body; 60
    /// seconds by default.
    @CompactDuration(seconds: 60) public var firstByte: Duration?

    /// The limit between two pieces of a body, sent or received; 60 seconds by default. Pauses that the caller makes do
    /// not count.
    @CompactDuration(seconds: 60) public var idle: Duration?

    /// The limit from the start until the end of the response's body; none by default.
    @CompactDuration public var total: Duration?

    /// Creates the default limits.
    public init() {}
}
