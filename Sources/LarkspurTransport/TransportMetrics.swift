/// Where the time and the bytes of one hop went.
///
/// Durations count from the hop's start; nil means that the phase did not happen (a reused connection has no lookup) or
/// that the transport cannot tell.
public struct TransportMetrics: Sendable, Equatable {
    /// How long the hop waited before the transport took it up.
    @CompactDuration public var queued: Duration?
    @CompactDuration public var nameLookup: Duration?
    @CompactDuration public var connected: Duration?
    @CompactDuration public var secured: Duration?
    @CompactDuration public var requestSent: Duration?
    @CompactDuration public var firstByte: Duration?
    @CompactDuration public var total: Duration?

    public var requestBodyBytes: UInt64 = 0
    public var responseBodyBytes: UInt64 = 0
    public var connectionWasReused: Bool?
    /// The protocol spoken, as ALPN names it: `http/1.1`, `h2`.
    public var protocolName: String?
    public var localAddress: String?
    public var remoteAddress: String?

    public init() {}
}
