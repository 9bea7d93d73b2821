/// The time limits of one hop, with millisecond resolution; nil means no limit.
///
/// The framework itself enforces the limits of a request that apply to several hops or attempts. The `total` of a hop
/// is the time that remains of these limits. No limit starts before the hop starts: the time in which the hop waits for
/// a connection slot of the host does not count.
public struct TransportTimeouts: Sendable, Hashable {
    /// The limit from the start until the connection is established, TLS handshake included; 30 seconds by default.
    @CompactDuration(seconds: 30) public var connect: Duration?

    /// The limit until the response's head arrives; 60 seconds by default. The time counts from the hop's start or from
    /// the end of the request's body, whichever is later.
    @CompactDuration(seconds: 60) public var firstByte: Duration?

    /// The limit between two pieces of a body, sent or received; 60 seconds by default. The time in which the caller
    /// pauses the hop does not count.
    @CompactDuration(seconds: 60) public var idle: Duration?

    /// The limit from the start until the end of the response's body; none by default.
    @CompactDuration public var total: Duration?

    /// Creates the default limits.
    public init() {}
}
