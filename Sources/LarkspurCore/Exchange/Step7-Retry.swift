/// The seventh step: if the exchange has failed, retriers decide about another attempt.
extension RequestPipeline {
    func conclude(_ exchange: CompletedExchange, _ plan: AttemptPlan) throws(Exit) -> Next {
        let isJudged = exchange.error != nil && hasInterceptors(plan)
        guard isJudged || core.receiver?.isPrompt == false else {
            if let error = exchange.error { try core.endAttempt(error) }
            // If the serializer is withdrawn before the response is stored, the state ignores this response.
            let held = plan.prompt?(exchange).map { HeldResponse(slot: 0, response: $0) }
            return isStepwise ? .now(.serialize(exchange, held: held)) : try serialize(exchange, held)
        }
        return .later { () async throws(Exit) in
            var exchange = exchange
            if let error = exchange.error {
                switch try await askRetriers(error) {
                case .again: return .now(.begin)
                case .over(let other): exchange = other.map(exchange.failed) ?? exchange
                }
            }
            if let receiver = core.receiver { exchange = await receiver.result(exchange) }
            if let error = exchange.error { try core.endAttempt(error) }
            return .now(.serialize(exchange, held: nil))
        }
    }

    enum Decision {
        /// The next attempt has begun.
        case again
        /// No retry follows. If the value is not nil, it replaces the attempt's error.
        case over(RequestError?)
    }

    /// Asks the session's retriers, and then the request's retriers. If a retrier decides to retry, waits until the
    /// retry delay has passed.
    func askRetriers(_ error: RequestError) async throws(Exit) -> Decision {
        let all = interceptors(try core.currentPlan())
        let interceptors = core.receiver?.retriers(among: all) ?? all
        guard !interceptors.isEmpty, let request = core.owner else { return .over(nil) }
        try core.enter(.retrying)
        let delay: Duration
        switch await Interceptor(interceptors: interceptors).retry(request, for: session, dueTo: error) {
        case .doNotRetry: return .over(nil)
        case .doNotRetryWithError(let refusal as RetryRefusal): return .over(error.refusingRetry(refusal.reason))
        case .doNotRetryWithError(let retryError): return .over(error.replaced(byRetrierWith: retryError))
        case .retry: delay = .zero
        case .retryAfter(let duration): delay = max(.zero, duration)
        }
        guard core.canSendAgain else { return .over(error.withoutBodyToRetry()) }
        if let refusal = core.refusal(of: delay) { return .over(error.refusingRetry(refusal.reason)) }
        try core.endAttempt(error, retryingAfter: delay)
        core.emit(.retry(error, after: delay))
        if delay > .zero {
            try core.step(.backOff)
            try? await session.configuration.clock.sleep(for: delay)
        }
        try core.prepareAgain()
        return .again
    }
}
