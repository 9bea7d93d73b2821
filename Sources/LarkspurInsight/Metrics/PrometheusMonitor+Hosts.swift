import Larkspur

extension PrometheusMonitor {
    /// Returns the host of a request's URL, with a port other than the scheme's default. It is a value of
    /// ``Options/host``, for programs that call several servers of one machine.
    ///
    ///     let monitor = try PrometheusMonitor(PrometheusMonitor.Options { $0.host = PrometheusMonitor.hostAndPort })
    public static let hostAndPort: @Sendable (OutgoingRequest) -> String = { request in
        request.url.hostHeader.map(String.init) ?? ""
    }
}
