/// One exchange of a session: a ``DataRequest``, ``UploadRequest``, ``DownloadRequest``, ``DataStreamRequest`` or
/// ``WebSocketRequest``.
///
///     let request = await session.request(url).validate()
///     let user = try await request.serializingDecodable(User.self).value
///
/// A request is lazy: it starts when its first serializer or reader is attached, or when ``resume()`` is called. Before
/// its start, no request is built, and no adapter or monitor is called. A request finishes exactly once.
///
/// All members are thread-safe and can be used at any time. A setting takes effect at the next stage that uses it.
public protocol Request: AnyObject, Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The library's implementation of the request. It has no members for users.
    @_documentation(visibility: internal)
    var handle: RequestHandle { get }
}

/// A request whose response is read by serializers: a ``DataRequest``, ``UploadRequest`` or ``DownloadRequest``.
public protocol SerializableRequest: Request {}

/// The library's implementation of a ``Request``. Only the library creates handles.
///
/// The type is public because the protocol is, and is not documented because it has no members for users.
@_documentation(visibility: internal)
public struct RequestHandle: Sendable, CustomReflectable {
    package let core: RequestCore

    package init(core: RequestCore) { self.core = core }

    /// An empty mirror, so that `dump` does not show the request's headers and body.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// The status of a request.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RequestStatus: Sendable {
    /// The request has not started.
    case initialized
    /// The request is in flight.
    case resumed
    /// The request waits for ``Request/resume()``.
    case suspended
    /// The request was cancelled. A cancelled request keeps this status after its finish.
    case cancelled
    /// The request has finished, with a response or an error. A request that has timed out is also `finished`.
    case finished
}

extension RequestState {
    var status: RequestStatus {
        switch phase {
        case .idle: pace == .suspended ? .suspended : .initialized
        case .preparing, .transferring, .receiving, .settling, .backingOff:
            pace == .suspended ? .suspended : .resumed
        case .cancellingHop, .unwinding, .finished:
            // A timeout ends the request by a cancellation, but the user did not cancel it.
            cancellation.map { $0.isTimeout ? .finished : .cancelled } ?? .finished
        }
    }
}

extension Request {
    /// The identifier of the request, unique within its session. All attempts have the same identifier.
    public var id: RequestID { handle.core.id }

    /// The current status of the request.
    public var status: RequestStatus { handle.core.read { $0.status } }

    /// The attempts so far, each with its hops: the request sent, the response's head and the metrics.
    ///
    ///     for attempt in request.attempts { print(attempt) }
    public var attempts: [Attempt] { handle.core.read { $0.attempts } }

    /// The number of retries, which is the number of attempts after the first.
    public var retryCount: Int { handle.core.read { max(0, $0.attemptCount - 1) } }

    /// The error of the request; nil if the request has not finished, or if it succeeded.
    public var error: RequestError? { handle.core.read { $0.exchange?.error } }

    /// The request of the last hop; nil before the first hop.
    public var request: OutgoingRequest? { handle.core.read { $0.lastHop?.request } }

    /// The head of the last hop's response; nil until the head has arrived.
    public var head: ResponseHead? { handle.core.read { $0.lastHop?.head } }

    /// The metrics of the last hop; nil until the hop has ended.
    public var metrics: TransportMetrics? { handle.core.read { $0.lastHop?.metrics } }

    public static func == (lhs: Self, rhs: Self) -> Bool { lhs === rhs }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// The last hop's method, URL without query, and status: `GET https://example.com/a (200)`.
    public var description: String {
        guard let hop = handle.core.read({ $0.lastHop }) else { return "request \(id), not built yet" }
        let status = hop.head.map { " (\($0.status))" } ?? ""
        return "\(hop.request.method) \(hop.request.url.withoutQuery)\(status)"
    }

    /// An empty mirror, so that `dump` does not show secrets that the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension Request {
    /// Starts the request, or resumes it after ``suspend()``.
    @discardableResult
    public func resume() -> Self {
        handle.core.setPace(.flowing)
        handle.core.start()
        return self
    }

    /// Suspends the transfer of bytes until ``resume()`` is called. Attaching a serializer does not start a suspended
    /// request.
    ///
    /// The attempt and total timeouts continue to run; the timeouts of a hop do not.
    @discardableResult
    public func suspend() -> Self {
        handle.core.setPace(.suspended)
        return self
    }

    /// Cancels the request. All its serializers get an error whose ``RequestError/isCancelled`` is true.
    ///
    /// If the request has already finished, it keeps its result, and serializers that are attached later also get this
    /// result.
    @discardableResult
    public func cancel() -> Self {
        handle.core.cancel()
        return self
    }

    /// Adds an interceptor after the session's interceptors and the request's earlier interceptors. The next stage that
    /// uses interceptors also calls the added interceptor.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        handle.core.set("interceptor") { $0.interceptors.append(interceptor) }
        return self
    }

    /// Adds an adapter after the existing interceptors.
    @discardableResult
    public func adapt(using adapter: any RequestAdapter) -> Self {
        interceptor(Interceptor(adapter: adapter, retrier: nil))
    }

    /// Adds a retrier after the existing interceptors.
    ///
    ///     request.retry(using: RetryPolicy(limit: 3))
    ///
    /// A ``RetryPolicy``, ``ConnectionLostRetryPolicy`` or `OfflineRetrier` is also added as an adapter, because it
    /// sets the idempotency key; the policies use the session's ``RetryBudget`` too. Any other type is added as a
    /// retrier only.
    @discardableResult
    public func retry(using retrier: any RequestRetrier) -> Self {
        interceptor(retrier as? any KeySettingRetrier ?? Interceptor(adapter: nil, retrier: retrier))
    }

    /// Adds a monitor for this request. The monitor receives the events that occur from now on.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        let queue = MonitorQueue(for: .monitor(monitor), of: id)
        handle.core.set("event monitor") { $0.monitors.append(queue) }
        return self
    }

    /// Calls the closure with each attempt's request, once the request is built and adapted. If the current attempt's
    /// request exists already, the closure is also called with it.
    @discardableResult
    public func onRequestCreation(perform handler: @escaping @Sendable (OutgoingRequest) async -> Void) -> Self {
        let last = handle.core.box.withLock { state in
            if state.phase != .finished { state.settings.creationHandlers.append(handler) }
            return state.attempt?.request
        }
        // Start an unstructured task, because the caller does not wait for the handler.
        if let last { Task { await handler(last) } }
        return self
    }
}
