/// The sixth step: response gates and then validators check the response.
extension RequestPipeline {
    /// Calls the response gates, and then the validators.
    func examine(_ exchange: CompletedExchange, _ plan: AttemptPlan) throws(Exit) -> Next {
        // If the request has a receiver, step 5 has already validated the response.
        guard exchange.error == nil, core.receiver == nil else { return try conclude(exchange, plan) }
        guard !plan.gates.isEmpty else { return try validate(exchange, plan) }
        return .later { () async throws(Exit) in
            try validate(await passGates(exchange, plan), core.currentPlan())
        }
    }

    /// Calls the validators in order, beginning with the session's validators. The first validator that refuses the
    /// response fails the exchange.
    private func validate(_ exchange: CompletedExchange, _ plan: AttemptPlan) throws(Exit) -> Next {
        guard exchange.error == nil, !plan.settings.validators.isEmpty else {
            core.reportUnvalidated(exchange, interceptors(plan))
            return try conclude(exchange, plan)
        }
        for validator in plan.settings.validators {
            do {
                if try validator.checkAtOnce(exchange) { continue }
            } catch {
                return try conclude(refused(exchange, by: error), plan)
            }
            return .later { () async throws(Exit) in try conclude(await validated(exchange), core.currentPlan()) }
        }
        if plan.isObserved { core.emit(.validate(ValidationEvent(exchange))) }
        return try conclude(exchange, plan)
    }

    /// Returns the exchange. If a validator refuses the response, the returned exchange has the validator's error.
    func validated(_ exchange: CompletedExchange) async throws(Exit) -> CompletedExchange {
        let plan = try core.enter(.validating)
        let validators = plan.settings.validators
        guard !validators.isEmpty else {
            core.reportUnvalidated(exchange, interceptors(plan))
            return exchange
        }
        for validator in validators {
            guard core.isWithPipeline else { throw .abandon }
            do { try await inTime(plan) { try await validator.validate(exchange) } } catch {
                return refused(exchange, by: error)
            }
        }
        core.emit(.validate(ValidationEvent(exchange)))
        return exchange
    }

    /// Checks a response of which only the head is known. Returns false if the check needs a task, because a validator
    /// is the user's, or if a validator refuses the response.
    func acceptsAtOnce(_ head: CompletedExchange, _ plan: AttemptPlan) -> Bool {
        guard !plan.settings.validators.isEmpty else {
            core.reportUnvalidated(head, interceptors(plan))
            return true
        }
        for validator in plan.settings.validators {
            guard (try? validator.checkAtOnce(head)) == true else { return false }
        }
        if plan.isObserved { core.emit(.validate(ValidationEvent(head))) }
        return true
    }

    private func refused(_ exchange: CompletedExchange, by error: any Error) -> CompletedExchange {
        let wrapped = RequestError(wrapping: error, as: .validationFailed, stage: .validating)
        core.emit(.validate(ValidationEvent(exchange, error: wrapped)))
        return failed(wrapped, exchange)
    }

    // MARK: Response gates

    /// Calls the response gates for the final response. If a gate times out, returns a failed exchange.
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

    /// Calls the gates in order. Throws if a gate cancels the request.
    private func askGates(about head: ResponseHead) async throws(Exit) {
        for gate in try core.enter(.validating).gates {
            let disposition = await gate(head)
            // If the gate has timed out, its answer is ignored.
            guard core.isWithPipeline, !Task.isCancelled else { throw .abandon }
            guard disposition == .allow else {
                core.cancel()
                throw .abandon
            }
            _ = core.read { $0.attempt?.passedGates += 1 }
        }
    }
}
