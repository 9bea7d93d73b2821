/// An interceptor whose adapter may run on the thread that starts a request, because it neither waits nor calls code of
/// users. If all interceptors of a request are such adapters, the request needs no task for them.
package protocol PromptAdapter: RequestInterceptor {
    /// Whether the adapter is as described, for this request. Changes nothing.
    func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool

    /// Does the same as ``RequestAdapter/adapt(_:using:)``.
    func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore)
}

extension RetryPolicy: PromptAdapter {
    /// The key comes from the session's source of random numbers, which may be code of users.
    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        core.context.retryAccount?.isOnSystemClock != false && !setsKey(in: request)
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) { core.depositForRetries() }
}

extension ConnectionLostRetryPolicy: PromptAdapter {
    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        policy.isPrompt(for: request, of: core)
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) {
        policy.adaptNow(&request, of: core)
    }
}

extension ComposedInterceptor: PromptAdapter {
    package func isPrompt(for request: OutgoingRequest, of core: RequestCore) -> Bool {
        interceptors.allSatisfy { ($0 as? any PromptAdapter)?.isPrompt(for: request, of: core) == true }
    }

    package func adaptNow(_ request: inout OutgoingRequest, of core: RequestCore) {
        for case let adapter as any PromptAdapter in interceptors { adapter.adaptNow(&request, of: core) }
    }
}
