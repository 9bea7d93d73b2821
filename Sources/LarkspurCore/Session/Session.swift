/// A factory of requests that share a configuration, a transport, interceptors and monitors.
///
///     let session = Session(interceptor: .composed(signing, retrying), eventMonitors: [log])
///     let joke = try await session.request("https://api.example.com/joke").serializingJSON().value
///
/// A request in flight keeps its session alive. When the session is released, requests that have serializers but have
/// not started fail with `.sessionEnded`.
///
/// Create one session and keep it, because each session has its own connections. Sessions share connections only if
/// they have the same transport, as a session and its copies by ``extending(_:)`` have.
// Most of the session's state is in `SessionContext` and not in this actor, because pipelines and the transport's
// threads cannot wait for an actor.
public actor Session {
    package nonisolated let context: SessionContext
    nonisolated let delegate: SessionDelegate
    private var lastID: UInt64 = 0
    private var listeners: [MonitorQueue] = []

    /// Creates a session over a transport.
    ///
    /// - Parameters:
    ///   - configuration: The settings. Later changes to the value do not affect the session.
    ///   - transport: The transport that sends requests.
    ///   - interceptor: An interceptor, called after the interceptors of the configuration.
    ///   - eventMonitors: Monitors in addition to the monitors of the configuration.
    public init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: any Transport,
        interceptor: (any RequestInterceptor)? = nil, eventMonitors: [any EventMonitor] = []
    ) {
        var configuration = configuration.forNewSession()
        if let interceptor { configuration.interceptors.append(interceptor) }
        configuration.eventMonitors += eventMonitors
        self.init(SessionContext(configuration: configuration, transport: transport))
    }

    private init(_ context: SessionContext) {
        self.context = context
        delegate = SessionDelegate(provider: context)
        context.adopt(self)
    }

    deinit {
        for listener in listeners { listener.close() }
        context.sessionDidEnd()
    }

    /// The configuration of the session, including the interceptors and monitors passed to its initializer.
    /// Its header fields are the current ones: see ``headers``.
    public nonisolated var configuration: SessionConfiguration {
        var configuration = context.configuration
        configuration.headers = context.headers.fields
        return configuration
    }

    /// Returns the absolute URL of a request of this session: a relative URL is resolved against the `baseURL` of the
    /// configuration.
    ///
    /// - Throws: `RequestError` with the code `.invalidURL`.
    public nonisolated func absoluteURL(of target: any URLConvertible) throws(RequestError) -> RequestURL {
        do { return try context.resolved(target) } catch { throw RequestError(wrapping: error, as: .invalidURL) }
    }

    /// Returns a session with the same transport and a changed copy of this session's configuration.
    ///
    /// Both sessions use the same connections. They also share the cookie jar, the credentials and the retry budget,
    /// unless the closure replaces these.
    ///
    ///     let admin = session.extending {
    ///         $0.baseURL = "https://api.example.com/admin"
    ///         $0.headers.update(.authorization(bearerToken: token))
    ///     }
    ///
    /// Neither session owns the other. Each session has its own requests, and ends only when that session itself is
    /// released or invalidated.
    public nonisolated func extending(_ configure: (inout SessionConfiguration) -> Void) -> Session {
        var configuration = configuration
        configure(&configuration)
        return Session(
            SessionContext(configuration: configuration, transport: context.engine, parent: context))
    }

    // MARK: Requests in flight

    /// The requests in flight, and those that have a serializer and wait for ``Request/resume()``. The oldest is first.
    public var requests: [any Request] { context.requests }

    /// Cancels all ``requests``, including those in a retry delay. Requests that are created during the call are not
    /// affected.
    public func cancelAllRequests() {
        for request in context.requests { request.cancel() }
    }

    /// Ends the session permanently. Its requests fail with `.sessionInvalidated`, and so do requests created later.
    ///
    /// The transport continues to work, because other sessions may use it.
    public func invalidate() {
        context.cancelRequestsForSessionInvalidation(with: nil)
    }

    /// A new stream of the events of all requests that are created from now on, until the session ends. If several
    /// tasks read one stream, each event goes to only one of them, and the cancel of one task ends the stream for all.
    ///
    ///     for await event in await session.events { print(event) }
    ///
    /// The stream has its own queue, as a monitor has. A slow reader does not delay requests. While the queue is full,
    /// the stream omits new requests with all their events, and the events of WebSockets.
    public var events: AsyncStream<IdentifiedEvent> {
        let subscription = EventSubscription()
        listeners.append(subscription.queue)
        return subscription.stream
    }

    // MARK: Creating requests

    package func makeCore(
        _ source: consuming RequestSource, _ interceptor: (any RequestInterceptor)?, _ startsAutomatically: Bool?,
        _ receiver: (any BodyReceiver)? = nil
    ) -> RequestCore {
        lastID += 1
        if !listeners.isEmpty { listeners.removeAll(where: \.isClosed) }
        return RequestCore(
            id: RequestID(lastID), source: source, session: self, interceptor: interceptor,
            startsAutomatically: startsAutomatically, receiver: receiver, listeners: listeners)
    }
}

extension Session: CustomReflectable {
    /// A mirror without the session's requests.
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["configuration": configuration]) }
}
