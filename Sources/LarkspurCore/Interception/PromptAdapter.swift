/// An interceptor that knows whether its retrier calls code of users. Such code gets the caller's task-local values, so
/// the request has a task before its hop begins.
package protocol KnownRetrier: RequestInterceptor {
    /// Whether the retrier calls code of users.
    var asksUsers: Bool { get }
}

/// An interceptor whose adapter may run on the thread that starts a request, because it neither waits nor calls code of
/// users. If all interceptors of a request are such adapters, the request needs no task for them.
package protocol PromptAdapter: KnownRetrier {
    /// Whether the adapter is as described, for this request. Changes nothing.
    func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool

    /// Does the same as ``RequestAdapter/adapt(_:using:)``.
    func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore)
}

extension Sequence<any RequestInterceptor> {
    /// Whether the retriers call code of users, as those of users' types do.
    var askUsers: Bool { contains { ($0 as? any KnownRetrier)?.asksUsers != false } }
}

extension RetryPolicy: PromptAdapter {
    package var asksUsers: Bool { shouldRetry != nil }

    /// The key comes from the session's source of random numbers, which may be code of users.
    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        core.context.retryAccount?.isOnSystemClock != false && !setsKey(in: request)
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) { core.depositForRetries() }
}

extension ConnectionLostRetryPolicy: PromptAdapter {
    package var asksUsers: Bool { policy.asksUsers }

    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        policy.isPrompt(for: request, of: core)
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) {
        policy.adaptNow(&request, of: core)
    }
}

extension RequestCompressor: KnownRetrier {
    package var asksUsers: Bool { false }
}
