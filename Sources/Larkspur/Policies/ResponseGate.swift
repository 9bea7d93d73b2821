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
        handle.core.set("response gate", of: self) { $0.gates.append(gate) }
        return self
    }
}

extension RequestPipeline {
    /// Asks the gates about the response that is the answer. Leaves the pipeline if one of them cancels.
    func passGates(_ exchange: CompletedExchange) async throws(RequestCore.Exit) {
        guard let head = exchange.head else { return }
        let gates = core.enter(.validating) { Array($0.settings.gates.dropFirst($0.attempt?.passedGates ?? 0)) }
        for gate in gates {
            let disposition = await gate(head)
            // One that was left behind has no say any more.
            guard core.isWithPipeline, !Task.isCancelled else { throw .abandon }
            guard disposition == .allow else {
                core.cancel(face)
                throw .abandon
            }
            _ = core.read { $0.attempt?.passedGates += 1 }
        }
    }

    /// Asks the gates about a response whose body is kept in memory, and collects the body if they let it pass.
    ///
    /// - Returns: The end of the hop.
    func collect(_ head: CompletedExchange) async throws(RequestCore.Exit) -> Step {
        let gated = core.read { $0.settings.gatesSeeHead } ? try await passGatesInTime(head) : head
        core.enter(.sending, isNeeded: true) { _ in [Never]() }  // the rest of the body is waited for
        guard case .ended(let exchange) = await core.hopEnd(gated.error == nil ? .collected : .unwanted) else {
            throw .abandon
        }
        try core.step(.settle)
        if let error = gated.error { return .stop(.ended(failed(error, exchange))) }
        guard let error = exchange.hop?.error else { return .stop(.ended(decoded(exchange))) }
        return .stop(.ended(try failed(by: error, exchange)))
    }
}
