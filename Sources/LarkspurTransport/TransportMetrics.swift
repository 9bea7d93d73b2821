/// The times and byte counts of one hop.
///
/// All times except `queued` count from the hop's start. If the hop was sent again after a lost connection, all times
/// except `queued` and `total` belong to the last sending, as far as the transport knows them. Nil means that the step
/// did not happen (a reused connection has no lookup), or that the transport does not know the time.
public struct TransportMetrics: Sendable, Equatable {
    /// The time that the hop waited before it started: for admissions, limits and a connection slot.
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
    /// The number of times that the transport sent the request again within the hop, after the connection was lost or
    /// the server had refused the request unprocessed. The session's retry budget counts them as retries.
    public var repetitions = 0
    /// Whether an earlier request used the connection; nil if unknown.
    public var connectionWasReused: Bool?
    /// The protocol, by its ALPN name: `http/1.1`, `h2`, `h3`.
    public var protocolName: String?
    /// The version of TLS, such as `TLSv1.3`; nil without TLS, or if unknown.
    public var tlsVersion: String?
    /// The cipher of TLS by its standard or OpenSSL's name, such as `TLS_AES_256_GCM_SHA384`; nil without TLS, or if
    /// unknown.
    public var tlsCipher: String?
    /// The second request, if the hop was sent twice because it was slow.
    public var hedge: HedgeRecord?
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
        parts += [
            protocolName, tlsVersion, remoteAddress, connectionWasReused == true ? "on a reused connection" : nil,
        ]
        .compactMap(\.self)
        if repetitions > 0 { parts.append("sent again \(repetitions == 1 ? "once" : "\(repetitions) times")") }
        if let hedge { parts.append("\(hedge)") }
        return parts.joined(separator: ", ")
    }

    package static func milliseconds(_ duration: Duration) -> String {
        let microseconds = Int64(duration / .microseconds(1))
        return "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
    }
}

/// The second request of a hop that was sent twice, because the answer to the first one was slow.
public final class HedgeRecord: Sendable, Equatable, CustomStringConvertible {
    /// The time from the hop's start to the second request.
    public let after: Duration
    /// Whether the answer to the second request came first. If so, the hop's other metrics are those of the second
    /// request.
    public let hasWon: Bool

    package init(after: Duration, hasWon: Bool) { (self.after, self.hasWon) = (after, hasWon) }

    public static func == (lhs: HedgeRecord, rhs: HedgeRecord) -> Bool {
        lhs.after == rhs.after && lhs.hasWon == rhs.hasWon
    }

    public var description: String {
        "sent again after \(TransportMetrics.milliseconds(after))" + (hasWon ? ", whose answer came first" : "")
    }
}
