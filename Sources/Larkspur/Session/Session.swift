/// Makes requests that share a configuration, a transport, interceptors and monitors.
///
///     let session = Session(interceptor: .composed(signing, retrying), eventMonitors: [log])
///     let joke = try await session.request("https://api.example.com/joke").serializingJSON().value
///
/// The actor is a face over `SessionContext`, which pipelines and the transport's threads can ask without waiting.
/// Requests that were started keep their session until they have finished; when it goes away before, requests that wait
/// unstarted with serializers attached fail with `.sessionEnded`.
public actor Session {
    /// A session for the impatient: default configuration, no interceptors, no monitors.
    public static let `default` = Session()

    nonisolated let context: SessionContext
    nonisolated let delegate: SessionDelegate
    private var lastID: UInt64 = 0
    private var listeners: [MonitorQueue] = []

    /// A session of what is given, and the defaults for the rest.
    ///
    /// - Parameters:
    ///   - transport: What moves the bytes; nil picks the platform's own.
    ///   - interceptor: Stands behind those of the configuration.
    ///   - eventMonitors: Are added to those of the configuration.
    public init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: (any Transport)? = nil,
        interceptor: (any RequestInterceptor)? = nil, eventMonitors: [any EventMonitor] = []
    ) {
        var configuration = configuration.withJarOfItsOwn()
        if let interceptor { configuration.interceptors.append(interceptor) }
        configuration.eventMonitors += eventMonitors
        self.init(SessionContext(configuration: configuration, transport: transport ?? DefaultTransport.make()))
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

    /// What the session was made with, its interceptors and monitors included.
    public nonisolated var configuration: SessionConfiguration { context.configuration }

    /// What keeps the session's cookies; nil if they are not kept.
    public nonisolated var cookieJar: CookieJar? { context.configuration.cookieJar }

    /// A session of its own on the same transport, and so on the same connections, whose configuration begins as this
    /// one's. They share the cookie jar, the credentials and the retry budget too.
    ///
    ///     let admin = session.extending {
    ///         $0.baseURL = "https://api.example.com/admin"
    ///         $0.headers.update(.authorization(bearerToken: token))
    ///     }
    ///
    /// Neither holds the other: each has its own requests, and ends when it is let go of or invalidated.
    public nonisolated func extending(_ configure: (inout SessionConfiguration) -> Void) -> Session {
        var configuration = configuration
        configure(&configuration)
        return Session(
            SessionContext(configuration: configuration, transport: context.transport, parent: context))
    }

    // MARK: Requests under way

    /// Every request that was started and has not finished, or waits for `resume()` with a serializer attached.
    public var requests: [any Request] { context.requests }

    /// Cancels all of them, those in a retry delay too. Requests made meanwhile are not touched.
    public func cancelAllRequests() {
        for request in context.requests { request.cancel() }
    }

    /// Ends the session for good: its requests fail with `.sessionInvalidated`, as will any made later.
    ///
    /// The transport is left alone: it may serve other sessions, and ends with the last of them.
    public func invalidate() {
        context.cancelRequestsForSessionInvalidation(with: nil)
    }

    /// The events of all requests that are created from now on, until the session ends. Each event goes to one reader.
    ///
    ///     for await event in await session.events { print(event) }
    ///
    /// The stream has its own queue, as a monitor has. A slow reader delays no request, and may miss requests.
    public var events: AsyncStream<IdentifiedEvent> {
        let subscription = EventSubscription()
        listeners.append(subscription.queue)
        return subscription.stream
    }

    // MARK: Making requests

    func makeCore(
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
