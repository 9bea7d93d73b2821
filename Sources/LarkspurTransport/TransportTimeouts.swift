/// How long a hop may take; nil is without limit. Transports keep them to the millisecond.
///
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

    /// The same with the other's limits in place of those that are as by default.
    package func filled(from other: TransportTimeouts) -> TransportTimeouts {
        let standard = TransportTimeouts()
        var result = self
        if $connect == standard.$connect { result.$connect = other.$connect }
        if $firstByte == standard.$firstByte { result.$firstByte = other.$firstByte }
        if $idle == standard.$idle { result.$idle = other.$idle }
        if $total == standard.$total { result.$total = other.$total }
        return result
    }
}
