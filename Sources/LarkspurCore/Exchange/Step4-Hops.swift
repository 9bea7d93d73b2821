/// The fourth step: the hop loop, from the result of a hop to the next hop or to the final response.
extension RequestPipeline {
    func judge(_ outcome: HopOutcome, _ loop: HopLoop) throws(Exit) -> Next {
        let draft = outcome.ended.flatMap { $0.hop?.draft == nil ? nil : $0 }
        let learners = core.learners(of: outcome.hop)
        guard draft != nil || learners != nil else { return try judged(outcome, loop) }
        // A participant that learns from a response may call user code, for example a clock. So may the handler of
        // cached responses.
        return .later { () async throws(Exit) in
            if let draft { await core.settleDraft(of: draft) }
            core.learn(from: outcome.hop, by: learners ?? [])
            return try judged(outcome, loop)
        }
    }

    private func judged(_ outcome: HopOutcome, _ loop: HopLoop) throws(Exit) -> Next {
        switch outcome {
        case .ended(let exchange): return try judgeEnd(exchange, loop)
        case .redirect(let head, let body):
            return .later { () async throws(Exit) in try await judgeRedirect(head, body, loop) }
        case .live(let head, let body): return deliver(head, body)
        case .notBegun: throw .abandon
        }
    }

    /// Handles the end of a hop.
    private func judgeEnd(_ exchange: CompletedExchange, _ loop: HopLoop) throws(Exit) -> Next {
        let (plan, inquiry) = try core.settle()
        guard let hop = exchange.hop, hop.error == nil else { return try judgeFailure(exchange, plan, inquiry, loop) }
        guard let head = hop.head, HopPolicy.isAnswered(head, to: hop.request) else {
            return isStepwise ? .now(.examine(exchange, plan)) : try examine(exchange, plan)
        }
        let hops = exchange.history.last?.hops.dropFirst(loop.earlier) ?? []
        switch HopPolicy.verdict(on: Array(hops), target: core.target, adjust: core.adjust) {
        case .deliver: return .now(.examine(exchange, plan))
        case .refuse(let error), .fail(let error):
            let error = RequestError(wrapping: error, as: .redirectRefused, stage: .sending)
            return .now(.examine(failed(error, exchange), plan))
        case .follow(let next, let isRedirect):
            core.emit(isRedirect ? .redirect(next) : .amend(next))
            return .wait(next, plan, loop)
        }
    }

    /// Handles a failed hop. A hop fails if an inquiry is needed first, such as the evaluation of its server by user
    /// code. In this case the hop is sent again after the inquiry.
    private func judgeFailure(
        _ exchange: CompletedExchange, _ plan: AttemptPlan, _ inquiry: (any HopInquiry)?, _ loop: HopLoop
    ) throws(Exit) -> Next {
        guard let hop = exchange.hop, let error = hop.error else { throw .abandon }
        // An inquiry that another reader of a shared hop has made superfluous is not the cause of a later failure.
        guard let inquiry, error.phase == .securing else {
            // `failed(by:_:)` reads the time left from a clock, which may be user code, so it runs in a task.
            guard error.code == .timedOut, !plan.deadlines.isEmpty else {
                return .now(.examine(try failed(by: error, exchange), plan))
            }
            return .later { () async throws(Exit) in .now(.examine(try failed(by: error, exchange), plan)) }
        }
        return .later { () async throws(Exit) in
            var loop = loop
            var refusal = inquiry.refusal(after: loop.inquiries)
            loop.inquiries.append(inquiry)
            if refusal == nil { refusal = await settle(inquiry, plan) }
            let plan = try core.currentPlan()
            guard let refusal else { return .wait(hop.request, plan, loop) }
            return .now(.examine(try failed(by: refusal, exchange), plan))
        }
    }

    /// Waits for the result of an inquiry. Returns an error if the hop must not be sent again or the inquiry times out.
    private func settle(_ inquiry: any HopInquiry, _ plan: AttemptPlan) async -> TransportError? {
        do {
            return try await inTime(plan) { await inquiry.settle() }
        } catch {
            return TransportError(.timedOut, "the trust evaluation timed out", phase: .securing, underlying: error)
        }
    }

    func failed(by error: TransportError, _ exchange: CompletedExchange) throws(Exit) -> CompletedExchange {
        let failure = try core.failure(from: error)
        return failed(RequestError(wrapping: failure, as: .connectionLost, stage: .sending), exchange)
    }
}
