/// A request interceptor that calls closures, or other interceptors.
///
///     Interceptor(adapt: { request, _ in request.headers["X-Trace"] = trace })
///
/// Interceptors are called in order. Each adapts the request that the previous interceptor has adapted. If one throws
/// an error, the attempt fails, and the later interceptors do not adapt the request. After a failed attempt, they are
/// asked in the same order about a retry. The first answer other than ``RetryResult/doNotRetry`` is the decision.
public struct Interceptor: RequestInterceptor {
    /// The closure that adapts a request; see ``RequestAdapter``.
    public typealias Adapt = @Sendable (inout OutgoingRequest, RequestAdapterState) async throws -> Void
    /// The closure that decides about a retry; see ``RequestRetrier``.
    public typealias Retry = @Sendable (any Request, Session, RequestError) async -> RetryResult

    private enum Content: Sendable {
        case closures(Adapt?, Retry?)
        case interceptors([any RequestInterceptor])
    }

    private let content: Content

    /// Creates an interceptor from closures. Without `adapt` the interceptor changes no request; without `retry` it
    /// requests no retry.
    public init(adapt: Adapt? = nil, retry: Retry? = nil) { content = .closures(adapt, retry) }

    /// Creates an interceptor that adapts by the adapter and retries by the retrier. If one of the two is nil, it does
    /// nothing at that stage.
    public init(adapter: (any RequestAdapter)?, retrier: (any RequestRetrier)?) {
        self.init(adapt: adapter?.adapt, retry: retrier?.retry)
    }

    /// Creates an interceptor that calls the interceptors in order.
    public init(interceptors: [any RequestInterceptor]) { content = .interceptors(interceptors) }

    /// The interceptors that this interceptor calls; nil if it calls closures.
    package var interceptors: [any RequestInterceptor]? {
        if case .interceptors(let interceptors) = content { interceptors } else { nil }
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        switch content {
        case .closures(let adapt, _): try await adapt?(&request, state)
        case .interceptors(let interceptors):
            for interceptor in interceptors { try await interceptor.adapt(&request, using: state) }
        }
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        switch content {
        case .closures(_, let retry): return await retry?(request, session, error) ?? .doNotRetry
        case .interceptors(let interceptors):
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
}

extension Interceptor: PromptAdapter {
    package var asksUsers: Bool {
        switch content {
        case .closures(_, let retry): retry != nil
        case .interceptors(let interceptors): interceptors.askUsers
        }
    }

    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        switch content {
        case .closures(let adapt, _): adapt == nil
        case .interceptors(let interceptors):
            interceptors.allSatisfy { ($0 as? any PromptAdapter)?.isPrompt(for: request, of: core) == true }
        }
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) {
        guard let interceptors else { return }
        for case let adapter as any PromptAdapter in interceptors { adapter.adaptNow(&request, of: core) }
    }
}

extension Interceptor: StatusExpecting {
    /// Applies to closures. The interceptors that an interceptor calls are looked at one by one.
    package func expects(_ status: Int) -> Bool {
        guard case .closures(_, _?) = content else { return false }
        return RetryPolicy.expectedStatuses.contains(status)
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

extension RequestInterceptor where Self == Interceptor {
    /// Returns an interceptor that calls the given interceptors in order.
    public static func composed(_ interceptors: any RequestInterceptor...) -> Self {
        Interceptor(interceptors: interceptors)
    }
}
