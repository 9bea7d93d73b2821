/// What becomes of a request whose response has begun.
public enum ResponseDisposition: Sendable {
    /// The request goes on.
    case allow
    /// The request is cancelled: its serializers end with an error that `isCancelled`.
    case cancel
}

/// Looks at a response's head and says what becomes of the request.
typealias ResponseGate = @Sendable (ResponseHead) async -> ResponseDisposition

extension Request {
    /// Asks the closure, once for each attempt that gets a response, whether to go on with it, before validators see it.
    ///
    ///     request.onResponseHead { head in head["X-Maintenance"] == nil ? .allow : .cancel }
    ///
    /// The response is the one that counts: not a redirect that was followed. The closure is called as soon as the head is
    /// there. Until it returns, the transport delivers no more than the first 64 KiB of the body, so that `.cancel` ends a
    /// body without end. Of several closures each is called in the order of their attachment, until one cancels.
    ///
    /// The body is already there in two cases: the closure is attached while the request runs, or middleware stands around
    /// the request and the body is kept in memory. With middleware, the closure is given the response of the middleware.
    @discardableResult
    public func onResponseHead(perform gate: @escaping @Sendable (ResponseHead) async -> ResponseDisposition) -> Self {
        handle.core.set("response gate") { $0.gates.append(gate) }
        return self
    }
}
