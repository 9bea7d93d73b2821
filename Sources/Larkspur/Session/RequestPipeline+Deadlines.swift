/// Somebody's code within an attempt: where the attempt has a limit, it is left behind when that passes.
///
/// Attempts without one pay nothing for it.
extension RequestPipeline {
    /// The session's interceptors, then the request's, which are about to run in this stage.
    func interceptors(at stage: RequestError.Stage) -> [any RequestInterceptor] {
        let own = core.context.configuration.interceptors
        return own + core.enter(stage, isNeeded: !own.isEmpty) { $0.settings.interceptors }
    }

    private var limit: Deadline? { core.read { $0.deadlines.attempt } }

    /// Builds and adapts. Nil if the request was taken away meanwhile.
    func prepared(_ number: Int) async -> Result<OutgoingRequest?, RequestError> {
        do {
            guard let limit else { return .success(try await prepare(number)) }
            return .success(try await limit.run { try await prepare(number) })
        } catch {
            return .failure(RequestError(wrapping: error, as: .adaptationFailed, stage: .adapting))
        }
    }

    func show(_ request: OutgoingRequest, to handler: @escaping @Sendable (OutgoingRequest) async -> Void) async {
        guard let limit else { return await handler(request) }
        try? await limit.run { await handler(request) }  // a hop that begins too late is cut at once
    }

    func ask(_ handler: any RedirectHandler, about redirect: Redirect) async throws -> RedirectAnswer {
        guard let limit else { return try await handler.answer(to: redirect) }
        return try await limit.run { try await handler.answer(to: redirect) }
    }

    /// Asks the gates; the exchange that it gives has failed if they had not answered in time.
    func passGatesInTime(_ exchange: CompletedExchange) async throws(Exit) -> CompletedExchange {
        guard let limit, !core.read({ $0.settings.gates }).isEmpty else {
            try await passGates(exchange)
            return exchange
        }
        do {
            try await limit.run { try await passGates(exchange) }
            return exchange
        } catch {
            guard core.isWithPipeline else { throw .abandon }
            return failed(RequestError(wrapping: error, as: .timedOut, stage: .validating), exchange)
        }
    }

    /// Has somebody's code judge a peer; gives what is against it.
    func settle(_ inquiry: TrustInquiry) async -> TransportError? {
        guard let limit else { return await inquiry.settle() }
        do {
            return try await limit.run { await inquiry.settle() }
        } catch {
            return TransportError(.timedOut, "the peer was not judged in time", phase: .securing, underlying: error)
        }
    }

    func validate(_ exchange: CompletedExchange, by validator: ResponseValidator) async throws {
        guard let limit else { return try await validator.validate(exchange) }
        try await limit.run { try await validator.validate(exchange) }
    }

    /// A failed attempt is over, and with it its limit: what its serializers make of the failure is their own time.
    func serialize(
        _ job: SerializerJob, _ exchange: CompletedExchange
    ) async -> (response: AnyResponse, failure: RequestError?) {
        guard exchange.error == nil, let limit else { return await core.run(job, exchange) }
        do {
            return try await limit.run { await core.run(job, exchange) }
        } catch {
            let failure = RequestError(wrapping: error, as: .timedOut, stage: .serializing)
                .adding(to: exchange, requestID: core.id)
            return (job.fail(exchange, failure), failure)
        }
    }
}
