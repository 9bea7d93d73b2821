/// An interceptor of closures.
///
///     Interceptor(adapt: { request, _ in request.headers["X-Trace"] = trace })
public struct Interceptor: RequestInterceptor {
    /// What an adapter does.
    public typealias Adapt = @Sendable (inout OutgoingRequest, RequestAdapterState) async throws -> Void
    /// What a retrier does.
    public typealias Retry = @Sendable (any Request, Session, RequestError) async -> RetryResult

    private let adapt: Adapt?
    private let retry: Retry?

    /// An interceptor that adapts, retries or does both.
    public init(adapt: Adapt? = nil, retry: Retry? = nil) {
        self.adapt = adapt
        self.retry = retry
    }

    /// An adapter and a retrier of other types as one interceptor.
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

/// Several interceptors as one, asked in order.
///
/// Adapters fold: each gets what the one before it made, the first failure ends it. Of the retriers the first answer
/// other than `.doNotRetry` wins.
public struct ComposedInterceptor: RequestInterceptor {
    /// In the order in which they are asked.
    public let interceptors: [any RequestInterceptor]

    /// `.composed` with a list.
    public init(_ interceptors: [any RequestInterceptor]) { self.interceptors = interceptors }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        for interceptor in interceptors { try await interceptor.adapt(&request, using: state) }
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        // Somebody may cancel, or the time be over, while a retrier thinks: nobody is asked after that.
        for interceptor in interceptors where request.handle.core.read({ $0.cancellation == nil }) {
            let answer = await interceptor.retry(request, for: session, dueTo: error)
            if case .doNotRetry = answer { continue }
            return answer
        }
        return .doNotRetry
    }
}

extension RequestAdapter where Self == Interceptor {
    /// An adapter of a closure.
    public static func adapter(_ adapt: @escaping Interceptor.Adapt) -> Self { Interceptor(adapt: adapt) }
}

extension RequestRetrier where Self == Interceptor {
    /// A retrier of a closure.
    public static func retrier(_ retry: @escaping Interceptor.Retry) -> Self { Interceptor(retry: retry) }
}

extension RequestInterceptor where Self == ComposedInterceptor {
    /// Several interceptors as one, asked in order.
    public static func composed(_ interceptors: any RequestInterceptor...) -> Self {
        ComposedInterceptor(interceptors)
    }
}
