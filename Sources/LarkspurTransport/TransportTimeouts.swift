/// How long one hop may take; nil is without limit. Transports keep them to the millisecond.
///
/// A request's own limits, which span hops and attempts, are the framework's: a hop's `total` is what is left of them.
/// The clocks start when the hop does: time spent waiting for a place among the connections of a host does not count.
public struct TransportTimeouts: Sendable, Hashable {
    /// From the start until the connection stands, TLS handshake included; 30 seconds by default.
    @CompactDuration(seconds: 30) public var connect: Duration?

    /// From the start, or from the end of the request's body if that is later, until the response's head; 60 seconds
    /// by default.
    @CompactDuration(seconds: 60) public var firstByte: Duration?

    /// Between any two pieces of a body, sent or received, while nobody holds them back; 60 seconds by default.
    @CompactDuration(seconds: 60) public var idle: Duration?

    /// From the start until the end of the response's body; without limit by default.
    @CompactDuration public var total: Duration?

    /// The defaults.
    public init() {}
}
