/// The last step: serializers run, and the request finishes.
extension RequestPipeline {
    /// Runs the serializers in order. If no serializer is left, finishes the request.
    ///
    /// - Parameter held: The response of the serializer that has just run; nil if none has.
    func serialize(_ exchange: CompletedExchange, _ held: HeldResponse?) throws(Exit) -> Next {
        var held = held
        while true {
            switch core.nextWork(after: held, with: exchange, isInTask: false) {
            case .serialize(let slot, let job, let limit):
                guard let response = job.prompt?(exchange) else {
                    return .later { () async throws(Exit) in try await serialize(job, slot, exchange, limit) }
                }
                held = HeldResponse(slot: slot, response: response)
                if isStepwise { return .now(.serialize(exchange, held: held)) }
            case .needsTask:
                return .later { () async throws(Exit) in
                    guard case .finished(let callsHandlers) = core.nextWork(with: exchange) else {
                        return .now(.serialize(exchange, held: nil))
                    }
                    return finished(callsHandlers)
                }
            case .finished(let callsHandlers): return finished(callsHandlers)
            case .abandon: throw .abandon
            }
        }
    }

    private func serialize(
        _ job: SerializerJob, _ slot: Int, _ exchange: CompletedExchange, _ limit: Deadline?
    ) async throws(Exit) -> Next {
        let (response, failure) = await run(job, exchange, limit)
        guard let failure else {
            return .now(.serialize(exchange, held: HeldResponse(slot: slot, response: response)))
        }
        guard core.hold(response, in: slot, during: .settling) else { return .now(.serialize(exchange, held: nil)) }
        core.emit(.serialize(SerializationEvent(exchange, response, error: failure)))
        switch try await askRetriers(failure) {
        case .again: return .now(.begin)
        case .over(nil): break
        case .over(let other?): core.hold(job.fail(exchange, other), in: slot, during: .settling)
        }
        return .now(.serialize(exchange, held: nil))
    }

    private func finished(_ callsHandlers: Bool) -> Next {
        guard callsHandlers else { return .done }
        return .later { () async throws(Exit) in
            // A response closure must not run before the function that attached the closure returns, because the caller
            // may hold a lock during that function.
            if ThreadMarks.isStarting { Task { await core.callHandlers() } } else { await core.callHandlers() }
            return .done
        }
    }

    /// Runs a serializer within the attempt's timeout. For a failed exchange there is no timeout, because its attempt
    /// has ended.
    private func run(
        _ job: SerializerJob, _ exchange: CompletedExchange, _ limit: Deadline?
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
