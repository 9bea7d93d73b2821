/// A source of network statuses: the system, or a script in tests.
protocol NetworkSource: Sendable {
    typealias Report = @Sendable (NetworkStatus) -> Void
    typealias Cancel = @Sendable () -> Void

    /// Prepares for the first call of `status()`, where the system needs some time for its first answer.
    func prepare()
    /// Returns the current status. It does not wait for other hosts.
    func status() -> NetworkStatus
    /// Reports the status after each event that may have changed it, one report at a time, until the returned closure
    /// is called. A change between the calls of `status()` and `watch` is reported too.
    func watch(_ report: @escaping Report) -> Cancel
    /// Returns the system's route to a host, after at most about this time. Returns early if the task is cancelled.
    func route(to host: String, within limit: Duration) async -> HostRoute
}

extension NetworkSource {
    func prepare() {}

    func route(to host: String, within limit: Duration) async -> HostRoute {
        await HostRoutes.shared.route(to: host, within: limit)
    }
}

/// The answer of the system about its route to a host. The host is not asked.
enum HostRoute: Sendable {
    /// There is a route to an address of the host, over an interface that is running.
    case exists
    /// There is no route to any address of the host.
    case missing
    /// The name does not exist.
    case unknownName
    /// The name could not be looked up in time, or no name server can be reached.
    case noAnswer
}

#if canImport(Network)
    typealias SystemNetworkSource = PathMonitorSource
#elseif os(Linux)
    typealias SystemNetworkSource = NetlinkSource
#else
    /// A source for systems whose network state the library does not read.
    struct SystemNetworkSource: NetworkSource {
        func status() -> NetworkStatus { .unknown }
        func watch(_ report: @escaping Report) -> Cancel { {} }
    }
#endif
