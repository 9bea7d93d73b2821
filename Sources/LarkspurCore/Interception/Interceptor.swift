/// A request interceptor that calls closures.
///
///     Interceptor(adapt: { request, _ in request.headers["X-Trace"] = trace })
public struct Interceptor: RequestInterceptor {
    /// The closure that adapts a request; see ``RequestAdapter``.
    public typealias Adapt = @Sendable (inout OutgoingRequest, RequestAdapterState) async throws -> Void
    /// The closure that decides about a retry; see ``RequestRetrier``.
    public typealias Retry = @Sendable (any Request, Session, RequestError) async -> RetryResult

    private let adapt: Adapt?
    private let retry: Retry?

    /// Creates an interceptor from closures. Without `adapt` the interceptor changes no request; without `retry` it
    /// requests no retry.
    public init(adapt: Adapt? = nil, retry: Retry? = nil) {
        self.adapt = adapt
        self.retry = retry
    }

    /// Creates an interceptor that adapts by the adapter and retries by the retrier. If one of the two is nil, it does
    /// nothing at that stage.
    public init(adapter: (any RequestAdapter)?, retrier: (any RequestRetrier)?) {
        self.init(adapt: adapter?.adapt, retry: retrier?.retry)
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        try await adapt?(&request, state)
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        await retry?(request, session, error) ?? .doNotRetry
    }
}

extension Interceptor: PromptAdapter {
    package var asksUsers: Bool { retry != nil }

    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool { adapt == nil }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) {}
}

extension Interceptor: StatusExpecting {
    package func expects(_ status: Int) -> Bool { retry != nil && RetryPolicy.expectedStatuses.contains(status) }
}

/// An interceptor that combines several interceptors, and calls them in order.
///
/// Each interceptor adapts the request that the previous interceptor has adapted. If an interceptor throws an error,
/// the attempt fails, and the later interceptors do not adapt the request. After a failed attempt, the interceptors are
/// asked in the same order about a retry. The first answer other than ``RetryResult/doNotRetry`` is the decision.
public struct ComposedInterceptor: RequestInterceptor {
    /// The interceptors, in the order in which they are called.
    public let interceptors: [any RequestInterceptor]

    /// Creates an interceptor that calls the given interceptors in order.
    public init(_ interceptors: [any RequestInterceptor]) { self.interceptors = interceptors }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        for interceptor in interceptors { try await interceptor.adapt(&request, using: state) }
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        // A retrier may take long. If the request was cancelled or has timed out in the meantime, ask no further
        // retrier.
        for interceptor in interceptors where request.handle.core.read({ $0.cancellation == nil }) {
            let answer = await interceptor.retry(request, for: session, dueTo: error)
            if case .doNotRetry = answer { continue }
            return answer
        }
        return .doNotRetry
    }
}

extension RequestAdapter where Self == Interceptor {
    /// Returns an adapter that calls the closure.
    public static func adapter(_ adapt: @escaping Interceptor.Adapt) -> Self { Interceptor(adapt: adapt) }
}

extension RequestRetrier where Self == Interceptor {
    /// Returns a retrier that calls the closure.
    public static func retrier(_ retry: @escaping Interceptor.Retry) -> Self { Interceptor(retry: retry) }
}

extension RequestInterceptor where Self == ComposedInterceptor {
    /// Returns an interceptor that calls the given interceptors in order.
    public static func composed(_ interceptors: any RequestInterceptor...) -> Self {
        ComposedInterceptor(interceptors)
    }
}
