/// The times and byte counts of one hop.
///
/// All times except `queued` count from the hop's start. If the hop was sent again after a lost connection, all times
/// except `queued` and `total` belong to the last sending, as far as the transport knows them. Nil means that the step
/// did not happen (a reused connection has no lookup), or that the transport does not know the time.
public struct TransportMetrics: Sendable, Equatable {
    /// The time that the hop waited in the transport's queue before it started.
    @CompactDuration public var queued: Duration?
    /// The time when the name lookup was complete.
    @CompactDuration public var nameLookup: Duration?
    /// The time when the connection was established.
    @CompactDuration public var connected: Duration?
    /// The time when the TLS handshake was complete.
    @CompactDuration public var secured: Duration?
    /// The time when the request had been sent.
    @CompactDuration public var requestSent: Duration?
    /// The time when the first byte of the response arrived.
    @CompactDuration public var firstByte: Duration?
    /// The time when the hop ended.
    @CompactDuration public var total: Duration?

    /// The number of bytes of the request's body that were sent.
    public var requestBodyBytes: UInt64 = 0
    /// The number of bytes of the response's body that were delivered, before decoding.
    public var responseBodyBytes: UInt64 = 0
    /// Whether an earlier request used the connection; nil if unknown.
    public var connectionWasReused: Bool?
    /// The protocol, by its ALPN name: `http/1.1`, `h2`.
    public var protocolName: String?
    /// The local IP address.
    public var localAddress: String?
    /// The peer's IP address.
    public var remoteAddress: String?

    /// Creates metrics without any value.
    public init() {}
}

extension TransportMetrics: CustomStringConvertible {
    /// One line with the known values: `connected 0.3 ms, first byte 1.2 ms, total 1.4 ms, 13 bytes received, h2`.
    public var description: String {
        let times = [
            ("queued", queued), ("name found", nameLookup), ("connected", connected), ("secured", secured),
            ("sent", requestSent), ("first byte", firstByte), ("total", total),
        ]
        var parts = times.compactMap { name, time in time.map { "\(name) \(Self.milliseconds($0))" } }
        parts += [(requestBodyBytes, "sent"), (responseBodyBytes, "received")]
            .compactMap { count, verb in count > 0 ? "\(count) bytes \(verb)" : nil }
        parts += [protocolName, remoteAddress, connectionWasReused == true ? "on a reused connection" : nil]
            .compactMap(\.self)
        return parts.joined(separator: ", ")
    }

    package static func milliseconds(_ duration: Duration) -> String {
        let microseconds = Int64(duration / .microseconds(1))
        return "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
    }
}
