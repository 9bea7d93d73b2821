/// The hop loop: from what came of a hop to the next hop, or to the final response.
extension RequestPipeline {
    func judge(_ outcome: HopOutcome, _ loop: HopLoop) throws(Exit) -> Next {
        guard core.needsJar(after: outcome.hop) else { return try judged(outcome, loop) }
        // The jar asks the user's clock what has expired.
        return .later { () async throws(Exit) in
            core.keepCookies(of: outcome)
            return try judged(outcome, loop)
        }
    }

    private func judged(_ outcome: HopOutcome, _ loop: HopLoop) throws(Exit) -> Next {
        core.learnFromCredential(of: outcome)
        switch outcome {
        case .ended(let exchange): return try judgeEnd(exchange, loop)
        case .redirect(let head, let body):
            return .later { () async throws(Exit) in try await judgeRedirect(head, body, loop) }
        case .gated(let head): return .later { () async throws(Exit) in try await collect(head) }
        case .live(let head, let body): return .now(.receive(head, body))
        case .notBegun: throw .abandon
        }
    }

    /// What follows a hop that has ended, and about which no redirect handler is asked.
    private func judgeEnd(_ exchange: CompletedExchange, _ loop: HopLoop) throws(Exit) -> Next {
        let (plan, inquiry) = try core.settle()
        guard let hop = exchange.hop, hop.error == nil else { return try judgeFailure(exchange, plan, inquiry, loop) }
        guard let head = hop.head, HopPolicy.isAnswered(head, to: hop.request) else {
            guard !exchange.codings.isEmpty else {
                return isStepwise ? .now(.examine(exchange, plan)) : try examine(exchange, plan)
            }
            // How much there is to decode is up to the server.
            return .later { () async throws(Exit) in .now(.examine(decoded(exchange), try core.look())) }
        }
        let hops = exchange.history.last?.hops.dropFirst(loop.earlier) ?? []
        switch HopPolicy.verdict(on: Array(hops), cookies: { core.cookies(for: $0) }) {
        case .deliver: return .now(.examine(decoded(exchange), plan))
        case .refuse(let error), .fail(let error):
            let error = RequestError(wrapping: error, as: .redirectRefused, stage: .sending)
            return .now(.examine(failed(error, exchange), plan))
        case .follow(let next, let isRedirect):
            core.emit(isRedirect ? .redirect(next) : .amend(next))
            return .wait(next, plan, loop)
        }
    }

    /// What follows a hop that failed: the hop once more if it failed because a peer has to be judged by the user's code,
    /// and the code accepts the peer.
    private func judgeFailure(
        _ exchange: CompletedExchange, _ plan: AttemptPlan, _ inquiry: TrustInquiry?, _ loop: HopLoop
    ) throws(Exit) -> Next {
        guard let hop = exchange.hop, let error = hop.error else { throw .abandon }
        guard let inquiry else {
            // How much time is left is up to the user's clock.
            guard error.code == .timedOut, !plan.deadlines.isEmpty else {
                return .now(.examine(try failed(by: error, exchange), plan))
            }
            return .later { () async throws(Exit) in .now(.examine(try failed(by: error, exchange), plan)) }
        }
        return .later { () async throws(Exit) in
            var loop = loop
            var inquiries = loop.inquiries ?? TrustInquiries()
            var refusal = inquiries.refusal(of: inquiry)
            loop.inquiries = inquiries
            if refusal == nil { refusal = await settle(inquiry, plan) }
            let plan = try core.look()
            guard let refusal else { return .wait(hop.request, plan, loop) }
            return .now(.examine(try failed(by: refusal, exchange), plan))
        }
    }

    /// Lets the user's code judge a peer; returns what is against it.
    private func settle(_ inquiry: TrustInquiry, _ plan: AttemptPlan) async -> TransportError? {
        do {
            return try await inTime(plan) { await inquiry.settle() }
        } catch {
            return TransportError(.timedOut, "the peer was not judged in time", phase: .securing, underlying: error)
        }
    }

    func failed(by error: TransportError, _ exchange: CompletedExchange) throws(Exit) -> CompletedExchange {
        let failure = try core.failure(from: error)
        return failed(RequestError(wrapping: failure, as: .connectionLost, stage: .sending), exchange)
    }
}
