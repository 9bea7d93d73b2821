/// The decision whether a request continues after its response's head has arrived.
public enum ResponseDisposition: Sendable {
    /// Continues with the request.
    case allow
    /// Cancels the request. Its serializers fail with an error whose `isCancelled` is true.
    case cancel
}

/// A closure that decides by a response's head whether the request continues.
typealias ResponseGate = @Sendable (ResponseHead) async -> ResponseDisposition

extension Request {
    /// Calls the closure once for each attempt that gets a response, before validation.
    ///
    ///     request.onResponseHead { head in head["X-Maintenance"] == nil ? .allow : .cancel }
    ///
    /// The closure gets the final response, not a redirect that is followed. It is called when the head has arrived.
    /// Until the closure returns, the transport delivers at most the first 64 KiB of the body, so that `.cancel` can
    /// end an endless body. Several closures are called in the order in which they were added, until one of them
    /// returns `.cancel`.
    ///
    /// In two cases the body has already arrived when the closure is called: the closure was added while the request
    /// was running, or the request has middleware and keeps its body in memory. With middleware, the closure gets the
    /// response that the middleware returns.
    @discardableResult
    public func onResponseHead(perform gate: @escaping @Sendable (ResponseHead) async -> ResponseDisposition) -> Self {
        handle.core.set("response gate") { $0.gates.append(gate) }
        return self
    }
}
