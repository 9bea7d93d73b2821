/// A transport that sends the requests of each host over the transport of the host's pattern.
///
///     let internalHosts = CurlTransport(configuration: .init { $0.proxies = .none })
///     let session = Session(transport: .routing(["**.internal": internalHosts], otherwise: CurlTransport()))
///
/// A pattern is a host, a suffix or `*`. `*.example.com` matches names with one more label, `**.example.com` matches
/// `example.com` and all names below it, and the most specific pattern applies. A pattern has no port. With an invalid
/// or duplicate pattern, every request fails with `.transportUnavailable`.
///
/// A redirect to another host takes that host's transport. ``capabilities`` are those that all transports have.
public final class RoutingTransport: Transport {
    private let table: HostTable<any Transport>
    private let fallback: any Transport
    private let transports: [any Transport]

    public let capabilities: TransportCapabilities
    /// The partition of all transports together.
    public let partition: TransportPartition

    /// Creates a transport over others.
    ///
    /// - Parameters:
    ///   - routes: The transports by the patterns of their hosts.
    ///   - fallback: The transport of all other hosts.
    public init(_ routes: [String: any Transport], otherwise fallback: any Transport) {
        let table = HostTable(routes)
        self.table = table
        let sorted = routes.sorted { $0.key < $1.key }
        transports = sorted.map(\.value) + [fallback]
        capabilities = transports.reduce(.all) { $0.intersection($1.capabilities) }
        partition =
            transports.contains { $0.partition.isOfProcess }
            ? .unique()
            : sorted.reduce(fallback.partition) { $0.adding($1.key).adding($1.value.partition.key) }
        self.fallback = table.problem.map { UnavailableTransport("a pattern of a RoutingTransport: \($0)") } ?? fallback
    }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        transport(for: request).task(for: request, id: id, delegate: delegate)
    }

    public func warmingTask(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> (any TransportTask)? {
        transport(for: request).warmingTask(for: request, id: id, delegate: delegate)
    }

    private func transport(for request: TransportRequest) -> any Transport {
        let host = request.url.host.map(String.init) ?? ""
        return table.problem == nil ? table[host] ?? fallback : fallback
    }

    public func invalidate() {
        for transport in transports { transport.invalidate() }
        fallback.invalidate()
    }
}

extension Transport where Self == RoutingTransport {
    /// Returns a transport that sends the requests of each host over the transport of the host's pattern.
    ///
    ///     Session(transport: .routing(["**.internal": direct, "*.example.com": proxied], otherwise: CurlTransport()))
    public static func routing(
        _ routes: [String: any Transport], otherwise fallback: any Transport
    ) -> RoutingTransport {
        RoutingTransport(routes, otherwise: fallback)
    }
}
