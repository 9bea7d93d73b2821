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

    private static func milliseconds(_ duration: Duration) -> String {
        let microseconds = Int64(duration / .microseconds(1))
        return "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
    }
}
