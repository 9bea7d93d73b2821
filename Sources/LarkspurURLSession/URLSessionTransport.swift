/// A transport over Foundation's `URLSession`, the default on Apple's platforms.
///
///     let session = Session(transport: URLSessionTransport(configuration: .ephemeral))
///
/// `URLSession` moves the bytes. The framework applies all rules: redirects, cookies, credentials and caching of the
/// given configuration are switched off. ``capabilities`` lists the sentences of the contract that `URLSession` makes
/// possible on this platform.
///
/// On Linux, this transport exists to test code for Apple's platforms. Prefer `CurlTransport` there. On Linux,
/// Foundation ends the process if a peer closes a connection inside a response's head, and it reads a body into memory
/// as fast as the peer sends it.
public final class URLSessionTransport: Transport {
    /// Creates a WebSocket of the platform with a maximum size of received messages. Its events go to the hop.
    typealias MakeSocket = @Sendable (URLRequest, Int, URLSessionHop) -> any PlatformSocket

    // Immutable
    let template: SessionTemplate
    /// The queue for commands to the platform's tasks. On Linux, `cancel()` waits for a queue on which a request's body
    /// may just be read, so it must not be called from there.
    let commands = DispatchQueue(label: "Larkspur URLSession commands")
    /// The timers of the hops' time limits.
    let timers: TimerQueue
    /// The maker of WebSockets that replaces the platform's, for tests.
    private let makeSocket: MakeSocket?

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct State {
        var isInvalidated = false
        var sessions = PlatformSessions()
        /// The tasks that were resumed and have not ended.
        var running: [ObjectIdentifier: URLSessionHop] = [:]
    }

    /// Creates a transport with an ephemeral configuration. It costs next to nothing before the first request.
    public convenience init(options: Options = Options()) {
        self.init(SessionTemplate(configuration: .ephemeral, options: options, ownsTimeouts: true))
    }

    /// Creates a transport with a configuration.
    ///
    /// The transport uses a copy without cookie storage, credential storage and cache. All other values stay, for
    /// example the proxies, the protocol classes and the timeouts. The timeouts of requests apply in addition.
    /// A background configuration cannot be used for single requests: every request fails with `.transportUnavailable`.
    public convenience init(configuration: URLSessionConfiguration, options: Options = Options()) {
        self.init(SessionTemplate(configuration: configuration, options: options, ownsTimeouts: false))
    }

    /// Creates a transport that measures its time limits with the clock; nil stands for the system's clock.
    ///
    /// - Parameter makeSocket: Makes WebSockets in place of the platform, for tests.
    convenience init(clock: EngineClock?, makeSocket: MakeSocket? = nil) {
        self.init(
            SessionTemplate(configuration: .ephemeral, options: Options(), ownsTimeouts: true),
            timers: clock.map { TimerQueue(clock: $0) } ?? .shared, makeSocket: makeSocket)
    }

    private init(_ template: SessionTemplate, timers: TimerQueue = .shared, makeSocket: MakeSocket? = nil) {
        self.template = template
        self.timers = timers
        self.makeSocket = makeSocket
    }

    public var capabilities: TransportCapabilities {
        #if canImport(Darwin)
            [.holdsBackPeer, .asksForTrust, .webSockets]
        #else
            makeSocket == nil ? [] : .webSockets
        #endif
    }

    /// ``TransportPartition/common``, or a unique one if the transport has a configuration or an identity.
    public var partition: TransportPartition { template.partition }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        URLSessionHop(request, id, delegate, self)
    }

    public func invalidate() {
        // The sessions are released, and so ended, after unlocking.
        let (running, sessions) = box.withLock { state in
            state.isInvalidated = true
            return (Array(state.running.values), state.sessions.removeAll())
        }
        for hop in running { hop.end(TransportError(.invalidated)) }
        withExtendedLifetime(sessions) {}
    }

    /// Returns the reason why a request cannot be sent by any task of this transport.
    func fault(of request: TransportRequest) -> TransportError? {
        if let problem = template.problem { return TransportError(.unavailable, problem) }
        if request.upgrades, !capabilities.contains(.webSockets) {
            return TransportError(.unavailable, "URLSession on this platform has no WebSockets")
        }
        if request.upgrades, request.translator == nil {
            return TransportError(.unavailable, "URLSession can switch a connection to WebSocket only")
        }
        if !request.upgrades, request.version != .negotiated {
            return TransportError(.unavailable, "URLSession chooses the HTTP version itself; use .negotiated")
        }
        if !request.upgrades, request.method.uppercased() == "GET", request.body.length != 0 {
            return TransportError(.unavailable, "URLSession sends no GET request with a body")
        }
        if request.body.hasTrailers {
            return TransportError(.unavailable, "URLSession sends no trailers after a request's body")
        }
        if request.url.isHTTPS, let problem = template.identity?.problem { return problem }
        #if !canImport(Darwin)
            if request.asksForIdentity, request.url.isHTTPS {
                return TransportError(.unavailable, "URLSession on this platform shows no client certificate")
            }
        #endif
        if request.asksForTrust, request.url.isHTTPS, !capabilities.contains(.asksForTrust) {
            return TransportError(
                .unavailable, "URLSession on this platform cannot let the server's trust be evaluated")
        }
        return nil
    }

    /// Creates a WebSocket of the platform; nil if the platform has none.
    func socket(
        for request: URLRequest, maximumMessageSize: Int, in session: PlatformSession, _ hop: URLSessionHop
    ) -> (any PlatformSocket)? {
        if let makeSocket { return makeSocket(request, maximumMessageSize, hop) }
        #if canImport(Darwin)
            return session.socket(for: request, maximumMessageSize: maximumMessageSize, hop)
        #else
            return nil
        #endif
    }

    /// Notes that the task runs. Returns the platform's session for it; nil if the transport was invalidated.
    func begin(_ hop: URLSessionHop, for use: PlatformSessions.Use) -> PlatformSession? {
        let (session, superseded) = box.withLock { state -> (PlatformSession?, [PlatformSession]) in
            guard !state.isInvalidated else { return (nil, []) }
            state.running[ObjectIdentifier(hop)] = hop
            return state.sessions.session(for: use, template)
        }
        withExtendedLifetime(superseded) {}  // released, and so ended, after unlocking
        return session
    }

    func didEnd(_ hop: URLSessionHop) {
        _ = box.withLock { $0.running.removeValue(forKey: ObjectIdentifier(hop)) }
    }
}
