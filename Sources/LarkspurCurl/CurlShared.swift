internal import CLarkspur

/// The parts of a transport that all its loops use.
final class CurlShared: Sendable {
    let configuration: CurlTransport.Configuration
    let routes: CurlRoutes
    let blocks = CurlBlockPool()
    let origins: Protected<CurlOrigins>
    let alternatives = Protected(CurlAlternatives())
    let loopCount: Int
    /// The clock that a test moves forward; nil for the system's clock.
    private let clock: EngineClock?

    /// More idle connections than a process can have. The loop adds its connections in use to this number, so the
    /// number must not be close to the limit of an `Int`.
    private static let maximumIdleConnections = 1 << 20

    init(_ configuration: CurlTransport.Configuration, clock: EngineClock? = nil) {
        self.configuration = configuration
        self.clock = clock
        routes = CurlRoutes(configuration)
        let count = min(max(1, configuration.loops), CurlTransport.Configuration.maximumLoops)
        loopCount = count
        let limit = max(1, configuration.maximumConnectionsPerHost)
        origins = Protected(CurlOrigins(limit: limit, loops: count))
    }

    /// The time that all limits of the transport are measured with.
    @inline(__always) var now: CurlClock.Instant {
        guard let clock else { return CurlClock.now }
        return CurlClock.now + clock.lead
    }

    /// Returns the number of idle connections that the loop keeps. The numbers of all loops add up to the configured
    /// maximum.
    func idleConnections(of loop: Int) -> Int {
        let maximum = min(max(1, configuration.maximumIdleConnections), Self.maximumIdleConnections)
        return maximum / loopCount + (loop < maximum % loopCount ? 1 : 0)
    }
}

extension CurlTransport {
    /// Starts a task in one of the loops, or lets it wait for a connection slot.
    func start(_ task: CurlTask) {
        let need = need(of: task.request)
        switch shared.origins.withLock({ $0.admit(task, need) }) {
        case .starts(let place): start(CurlOrigins.Start(task: task, place: place), mayTakeTurn: true)
        case .waits(let wait): task.didWait(wait)
        case .refused: task.end(CurlTaskQueue.invalidated, metrics: TransportMetrics())
        }
    }

    /// Hands an admitted task to its loop. If the loop refuses the task, the task ends, and the next waiting task
    /// starts instead.
    ///
    /// - Parameter mayTakeTurn: Whether the caller sends the request itself if the loop's thread sleeps.
    func start(_ first: CurlOrigins.Start, mayTakeTurn: Bool = false) {
        var next: CurlOrigins.Start? = first
        while let start = next {
            guard let refusal = loops[start.place.loop].submit(start, mayTakeTurn: mayTakeTurn) else { return }
            start.task.end(refusal, metrics: TransportMetrics())
            next = shared.origins.withLock { $0.leave(start.place) }
        }
    }

    private func need(of request: TransportRequest) -> CurlOrigins.Need {
        if request.upgrades { return .upgraded }
        // libcurl's version decides whether the request may use HTTP/2, so libcurl must be loaded.
        guard clarkspur_curl_load() == nil else { return .exclusive }
        let version = CurlVersion.fit(for: request, negotiates: shared.configuration.negotiatesHTTP2, .current)
        return version == .http1 ? .exclusive : .shareable
    }
}
