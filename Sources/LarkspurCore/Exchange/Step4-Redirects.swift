/// The redirects that a redirect handler decides about. The handler is called as soon as the head has arrived. If the
/// request is a stream or a download, the body waits meanwhile.
extension RequestPipeline {
    func judgeRedirect(
        _ head: CompletedExchange, _ body: ByteChannel?, _ loop: HopLoop
    ) async throws(Exit) -> Next {
        let plan = try core.currentPlan()
        let decision: Result<OutgoingRequest?, any Error>
        do { decision = .success(try await decide(about: head, after: loop.earlier, plan)) } catch {
            decision = .failure(error)
        }
        guard core.isWithPipeline else { throw .abandon }
        switch decision {
        case .success(let request?):
            _ = try await drop(body)
            core.emit(.redirect(request))
            return .wait(request, try core.currentPlan(), loop)
        case .success(nil):
            return deliver(head, body)
        case .failure(let error):
            let exchange = try await drop(body)
            let refusal = RequestError(wrapping: error, as: .redirectRefused, stage: .sending)
            return .now(.examine(failed(refusal, exchange), try core.currentPlan()))
        }
    }

    /// Ends the hop of a redirect that is not the final response. The hop's body is discarded.
    private func drop(_ body: ByteChannel?) async throws(Exit) -> CompletedExchange {
        guard case .ended(let exchange) = await core.hopEnd(.discarded) else { throw .abandon }
        body?.end(nil)
        try core.step(.settle)
        return exchange
    }

    /// Returns the request to send next; nil if the redirect is the final response.
    private func decide(
        about exchange: CompletedExchange, after earlier: Int, _ plan: AttemptPlan
    ) async throws -> OutgoingRequest? {
        guard let hop = exchange.hop, let head = exchange.head else { return nil }
        let hops = Array((exchange.history.last?.hops ?? []).dropFirst(earlier)) + [hop]
        let proposal: Result<OutgoingRequest, RequestError>
        switch HopPolicy.verdict(on: hops, target: core.target, adjust: core.adjust) {
        case .deliver: return nil
        case .follow(let next, _): proposal = .success(next)
        case .refuse(let error): proposal = .failure(error)
        case .fail(let error): throw error
        }
        guard let handler = plan.settings.redirectHandler else { return try proposal.get() }
        let redirect = Redirect(head: head, request: hop.request, hops: hops, next: proposal)
        switch try await inTime(plan, { try await handler.answer(to: redirect) }) {
        case .follow: return try proposal.get()
        case .doNotFollow: return nil
        case .modify(let request):
            return try HopPolicy.checked(request, for: redirect, target: core.target, adjust: core.adjust)
        }
    }
}
