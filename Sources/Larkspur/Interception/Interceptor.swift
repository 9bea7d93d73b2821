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

    /// Creates an interceptor that adapts, retries or does both. Without a closure it does nothing at that stage.
    public init(adapt: Adapt? = nil, retry: Retry? = nil) {
        self.adapt = adapt
        self.retry = retry
    }

    /// Creates an interceptor from an adapter and a retrier of other types.
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

/// Several interceptors as one, called in order.
///
/// Each adapter gets the request as the adapter before it left it; the first error ends the chain. The first retrier
/// that returns anything other than ``RetryResult/doNotRetry`` decides.
public struct ComposedInterceptor: RequestInterceptor {
    /// The interceptors, in the order in which they are called.
    public let interceptors: [any RequestInterceptor]

    /// Creates an interceptor from a list.
    public init(_ interceptors: [any RequestInterceptor]) { self.interceptors = interceptors }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        for interceptor in interceptors { try await interceptor.adapt(&request, using: state) }
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        // A retrier may take long. If the request was cancelled or timed out meanwhile, no other retrier is asked.
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
    /// Combines several interceptors. They are called in order.
    public static func composed(_ interceptors: any RequestInterceptor...) -> Self {
        ComposedInterceptor(interceptors)
    }
}
