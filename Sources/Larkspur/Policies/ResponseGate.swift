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

extension RequestPipeline {
    /// Asks the gates about the final response; the exchange that it returns has failed if they did not answer in time.
    func passGates(_ exchange: CompletedExchange, _ plan: AttemptPlan) async throws(Exit) -> CompletedExchange {
        guard let head = exchange.head, !plan.gates.isEmpty else { return exchange }
        do {
            try await inTime(plan) { try await askGates(about: head) }
            return exchange
        } catch {
            guard core.isWithPipeline else { throw .abandon }
            return failed(RequestError(wrapping: error, as: .timedOut, stage: .validating), exchange)
        }
    }

    /// Fails with an exit if one of the gates cancels the request.
    private func askGates(about head: ResponseHead) async throws(Exit) {
        for gate in try core.enter(.validating).gates {
            let disposition = await gate(head)
            // A gate that was left behind has no say any more.
            guard core.isWithPipeline, !Task.isCancelled else { throw .abandon }
            guard disposition == .allow else {
                core.cancel()
                throw .abandon
            }
            _ = core.read { $0.attempt?.passedGates += 1 }
        }
    }

    /// Asks the gates about a response whose body is kept in memory, and collects the body if they let it pass.
    func collect(_ head: CompletedExchange) async throws(Exit) -> Next {
        let plan = try core.look()
        let gated = plan.gatesSeeHead ? try await passGates(head, plan) : head
        try core.enter(.sending)  // the rest of the body is waited for
        guard case .ended(let exchange) = await core.hopEnd(gated.error == nil ? .collected : .unwanted) else {
            throw .abandon
        }
        let settled = try core.settle().plan
        if let error = gated.error { return .now(.examine(failed(error, exchange), settled)) }
        guard let error = exchange.hop?.error else { return .now(.examine(decoded(exchange), settled)) }
        return .now(.examine(try failed(by: error, exchange), settled))
    }
}
