/// One exchange as its user sees it: made by a session, started by its first serializer, finished exactly once.
///
/// A request is lazy: before the start nothing is built and no adapter or monitor is called. Every member may be used
/// from any thread at any time.
public protocol Request: AnyObject, Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The library's own side of the request; there is nothing to call on it.
    var handle: RequestHandle { get }
}

/// A request whose response goes through serializers.
public protocol SerializableRequest: Request {}

/// Ties a request to its inner side; only the library makes one.
public struct RequestHandle: Sendable, CustomReflectable {
    package let core: RequestCore

    /// Keeps `dump` from showing the request's headers and body.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// The name of a request, unique within its session.
public struct RequestID: Hashable, Sendable, Comparable, CustomStringConvertible {
    let number: UInt64

    init(_ number: UInt64) { self.number = number }

    public static func < (lhs: RequestID, rhs: RequestID) -> Bool { lhs.number < rhs.number }
    public var description: String { "#\(number)" }
}

/// Where a request stands, as its user sees it.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RequestStatus: Sendable {
    /// It was not started yet.
    case initialized
    /// It is under way.
    case resumed
    /// It waits for `resume()`.
    case suspended
    /// It was cancelled, and answers so.
    case cancelled
    /// It is final.
    case finished
}

extension Request {
    /// Unique within its session, and the same for all attempts.
    public var id: RequestID { handle.core.id }

    /// Where the request stands.
    public var status: RequestStatus {
        handle.core.read { state in
            switch state.phase {
            case .idle: state.pace == .suspended ? .suspended : .initialized
            case .preparing, .transferring, .receiving, .settling, .backingOff:
                state.pace == .suspended ? .suspended : .resumed
            case .cancellingHop, .unwinding, .finished:
                // A request whose time is over is not one that somebody gave up.
                state.cancellation.map { $0.isTimeout ? .finished : .cancelled } ?? .finished
            }
        }
    }

    /// All attempts so far, with the hops of each: the request sent, the head and the metrics that came back.
    public var attempts: [Attempt] { handle.core.read { $0.attempts } }

    /// How many attempts followed the first.
    public var retryCount: Int { handle.core.read { max(0, $0.attemptCount - 1) } }

    /// Why the request failed; nil until it has finished, or if it did not fail.
    public var error: RequestError? { handle.core.read { $0.exchange?.error } }

    /// The request of the last hop.
    public var request: OutgoingRequest? { handle.core.read { $0.lastHop?.request } }

    /// The head of the last hop's response.
    public var head: ResponseHead? { handle.core.read { $0.lastHop?.head } }

    /// The last hop's response as Foundation's value, made when asked for.
    public var response: HTTPURLResponse? {
        guard let hop = handle.core.read({ $0.lastHop }), let head = hop.head else { return nil }
        return head.httpURLResponse(url: hop.request.url)
    }

    /// The last hop's metrics, once it has ended.
    public var metrics: TransportMetrics? { handle.core.read { $0.lastHop?.metrics } }

    public static func == (lhs: Self, rhs: Self) -> Bool { lhs === rhs }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Method, URL without its query, and status, as far as they are known.
    public var description: String {
        guard let hop = handle.core.read({ $0.lastHop }) else { return "request \(id), not built yet" }
        let status = hop.head.map { " (\($0.status))" } ?? ""
        return "\(hop.request.method) \(hop.request.url.withoutQuery)\(status)"
    }

    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension Request {
    /// Starts the request, or lets it go on after `suspend()`.
    @discardableResult
    public func resume() -> Self {
        handle.core.setPace(.flowing)
        handle.core.start()
        return self
    }

    /// Stops the flow of bytes until `resume()`. A request that was not started is then not started by a serializer.
    @discardableResult
    public func suspend() -> Self {
        handle.core.setPace(.suspended)
        return self
    }

    /// Cancels the request for all its serializers, which end with an error that `isCancelled`.
    ///
    /// A finished request cannot be cancelled: what it has delivered stands, and late serializers still work.
    @discardableResult
    public func cancel() -> Self {
        handle.core.cancel()
        return self
    }

    /// Adds an interceptor after the session's and those added before; each stage looks when it comes.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        handle.core.set("interceptor") { $0.interceptors.append(interceptor) }
        return self
    }

    /// Adds an adapter after those that are there.
    @discardableResult
    public func adapt(using adapter: any RequestAdapter) -> Self {
        interceptor(Interceptor(adapter: adapter, retrier: nil))
    }

    /// Adds a retrier after those that are there.
    ///
    /// A ``RetryPolicy`` also adapts the request, for its idempotency key and its budget. Of other interceptors only the retrier
    /// is added.
    @discardableResult
    public func retry(using retrier: any RequestRetrier) -> Self {
        interceptor(retrier as? RetryPolicy ?? Interceptor(adapter: nil, retrier: retrier))
    }

    /// Adds a monitor for this request, which is told of what happens from now on.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        let queue = MonitorQueue(for: .monitor(monitor), of: id)
        handle.core.set("event monitor") { $0.monitors.append(queue) }
        return self
    }

    /// Calls the closure with each attempt's request once it is built and adapted; at once with the last one, if there is one.
    @discardableResult
    public func onRequestCreation(perform handler: @escaping @Sendable (OutgoingRequest) async -> Void) -> Self {
        let last = handle.core.box.withLock { state in
            if state.phase != .finished { state.settings.creationHandlers.append(handler) }
            return state.attempt?.request
        }
        // Unstructured: the caller does not wait for its handler.
        if let last { Task { await handler(last) } }
        return self
    }
}
