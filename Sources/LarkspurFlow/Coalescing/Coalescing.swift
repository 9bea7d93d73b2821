/// The requests of a session that share one exchange while they are in flight.
///
///     configuration.coalescing = .identicalReads
public struct Coalescing: Sendable, Hashable {
    /// The names of header fields, in lower case, whose values may differ between requests that share an exchange.
    let ignored: Set<String>

    /// Equal reads share an exchange: GET and HEAD without a body, with the same URL and the same header fields,
    /// `Authorization` and `Cookie` among them. Streams, downloads and WebSockets share nothing.
    ///
    /// The requests must have equal `connect`, `firstByte` and `idle` timeouts; `attempt` and `total` may differ. A
    /// request joins an exchange until 256 KiB of its response have arrived. A request with a higher priority than the
    /// exchange starts its own.
    ///
    /// Each request keeps its own serializers, `attempt` and `total` timeouts, and cancellation. The exchange ends when
    /// its last request has left. If it fails, all its requests fail, and each asks its own retriers.
    public static let identicalReads = Coalescing.identicalReads(ignoring: [
        "traceparent", "tracestate", "b3", "x-request-id", "x-correlation-id",
    ])

    /// Returns the setting ``identicalReads`` with other fields whose values do not matter. The response is that to the
    /// first request, so a field must not be in the list if the server's response depends on it.
    public static func identicalReads(ignoring fields: [String]) -> Coalescing {
        Coalescing(ignored: Set(fields.map { $0.lowercased() }))
    }
}

/// Everything in which requests must agree to share an exchange.
struct CoalescingKey: Hashable, Sendable {
    private let method: String
    private let url: String
    private let fields: [String]
    private let version: HTTPVersionChoice
    private let asksForTrust: Bool
    private let trustGeneration: UInt64
    private let timeouts: TransportTimeouts

    /// Returns nil if the request shares no exchange.
    init?(_ request: TransportRequest, _ coalescing: Coalescing) {
        guard request.method == "GET" || request.method == "HEAD", case .none = request.body, !request.upgrades,
            request.flow?.kind == .data
        else { return nil }
        (method, url, version) = (request.method, request.url.text, request.version)
        // The lengths keep apart what the texts alone could mix up.
        fields = request.fields.compactMap { field in
            let name = field.name.lowercased()
            return coalescing.ignored.contains(name) ? nil : "\(name.utf8.count):\(name)\(field.value)"
        }
        (asksForTrust, trustGeneration) = (request.asksForTrust, request.trustGeneration)
        var timeouts = request.timeouts
        timeouts.total = nil  // the request itself ends when its total time is over
        self.timeouts = timeouts
    }
}
