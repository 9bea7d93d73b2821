/// Where the time and the bytes of one hop went.
///
/// Durations but the first count from the hop's start; where it was sent again because a connection was lost, all of them but
/// the total are of the last sending, as far as the transport can tell. Nil means that the phase did not happen (a reused
/// connection has no lookup) or that the transport cannot tell.
public struct TransportMetrics: Sendable, Equatable {
    /// How long the hop waited before the transport took it up.
    @CompactDuration public var queued: Duration?
    /// When the host's addresses were known.
    @CompactDuration public var nameLookup: Duration?
    /// When the connection stood.
    @CompactDuration public var connected: Duration?
    /// When the TLS handshake was done.
    @CompactDuration public var secured: Duration?
    /// When the request had been sent.
    @CompactDuration public var requestSent: Duration?
    /// When the first byte of the response came.
    @CompactDuration public var firstByte: Duration?
    /// When the hop had ended.
    @CompactDuration public var total: Duration?

    /// How much of the request's body was sent.
    public var requestBodyBytes: UInt64 = 0
    /// How much of the response's body was delivered, as it was coded.
    public var responseBodyBytes: UInt64 = 0
    /// Whether the connection had carried a request before.
    public var connectionWasReused: Bool?
    /// The protocol spoken, as ALPN names it: `http/1.1`, `h2`.
    public var protocolName: String?
    /// The IP address of this side.
    public var localAddress: String?
    /// The IP address of the peer.
    public var remoteAddress: String?

    /// Nothing is known yet.
    public init() {}
}

extension TransportMetrics: CustomStringConvertible {
    /// One line, only of what is known: `connected 0.3 ms, first byte 1.2 ms, total 1.4 ms, 13 bytes received, h2`.
    public var description: String {
        let times = [
            ("queued", queued), ("name found", nameLookup), ("connected", connected), ("secured", secured),
            ("sent", requestSent), ("first byte", firstByte), ("total", total),
        ]
        var parts = times.compactMap { name, time in time.map { "\(name) \(Self.milliseconds($0))" } }
        parts += [(requestBodyBytes, "sent"), (responseBodyBytes, "received")]
            .compactMap { count, verb in count > 0 ? "\(count) bytes \(verb)" : nil }
        parts += [protocolName, remoteAddress, connectionWasReused == true ? "on a kept connection" : nil]
            .compactMap(\.self)
        return parts.joined(separator: ", ")
    }

    package static func milliseconds(_ duration: Duration) -> String {
        let microseconds = Int64(duration / .microseconds(1))
        return "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
    }
}
