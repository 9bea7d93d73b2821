/// The way of one request as a machine: its steps in order, the only retry loop, the only hop loop.
///
/// The machine is a value that keeps nothing. Each step is a function: it does its part, by the plan of its attempt, and goes on
/// with the next step. It decides by its plan alone whether it can be done at once, without code of the user's and without a wait; if
/// not, it returns the work for a task. So every request takes the same steps, on whatever thread a driver runs them
/// (`RequestPipeline+Drivers.swift`).
///
/// A step that changes the state fails with `RequestCore.Exit` after a cancel: another task finishes the request then.
struct RequestPipeline: Sendable {
    let core: RequestCore
    let session: Session
    /// Whether a driver is given each step before it is done: where middleware drives the hop loop alone, and where a test
    /// plays what comes between two steps.
    var isStepwise = false

    typealias Exit = RequestCore.Exit

    /// What follows a step.
    enum Next: Sendable {
        /// This step, at once.
        case now(Step)
        /// Work that needs a task, and returns what follows.
        case later(Work)
        /// A hop with this request, and then `judge`.
        case wait(OutgoingRequest, AttemptPlan, HopLoop)
        /// Nothing: the request has finished.
        case done
    }

    typealias Work = @Sendable () async throws(Exit) -> Next

    /// Where a driver may look at the machine; the steps in between call each other.
    enum Step: Sendable {
        /// An attempt begins, the first one or a further one.
        case begin
        /// A hop has ended, or its head is there: another hop follows, or the response is final.
        case judge(HopOutcome, HopLoop)
        /// The final response has a body that is not kept in memory: it is validated and received.
        case receive(CompletedExchange, ByteChannel)
        /// The hops have ended: response gates and validators see the response, or retriers the failure.
        case examine(CompletedExchange, AttemptPlan)
        /// The next serializer runs; when none is left, the request finishes.
        case serialize(CompletedExchange, held: HeldResponse?)
    }

    /// The hops of one attempt, or of one call of `next` by middleware.
    struct HopLoop: Sendable {
        /// The number of the attempt's hops that came before this loop.
        var earlier = 0
        /// Nil if there were none.
        var inquiries: TrustInquiries?
    }

    /// Does one step.
    func next(_ step: Step) throws(Exit) -> Next {
        switch step {
        case .begin: try begin()
        case .judge(let outcome, let loop): try judge(outcome, loop)
        case .receive(let head, let body):
            .later { () async throws(Exit) in try await conclude(receive(body, of: head), core.look()) }
        case .examine(let exchange, let plan): try examine(exchange, plan)
        case .serialize(let exchange, let held): try serialize(exchange, held)
        }
    }

    // MARK: Building and adapting

    func begin() throws(Exit) -> Next {
        let plan = try core.beginAttempt()
        guard core.isLimited(plan.settings.timeouts) else { return try build(plan) }
        // The limit runs on the user's clock.
        return .later { () async throws(Exit) in
            core.watchAttempt(plan)
            return try build(core.look())
        }
    }

    private func build(_ plan: AttemptPlan) throws(Exit) -> Next {
        guard core.source.runsUserCode else {
            let request: OutgoingRequest
            do { request = try core.source.build(in: core.context, within: plan.settings.timeouts) } catch {
                return try fail(error)
            }
            return try adapt(request, builtBy: plan, plan)
        }
        return .later { () async throws(Exit) in
            let request: OutgoingRequest
            do {
                request = try await inTime(plan) {
                    try await core.source.buildWithUserCode(in: core.context, within: plan.settings.timeouts)
                }
            } catch {
                return try fail(error)
            }
            return try adapt(request, builtBy: plan, core.look())
        }
    }

    /// - Parameter first: The plan that the request was built by. Limits of time may have been set since then.
    private func adapt(
        _ request: OutgoingRequest, builtBy first: AttemptPlan, _ plan: AttemptPlan
    ) throws(Exit) -> Next {
        guard hasInterceptors(plan) || core.receiver != nil else { return try check(request, builtBy: first, plan) }
        return .later { () async throws(Exit) in
            let adapted: OutgoingRequest
            do {
                adapted = try await inTime(plan) { try await self.adapted(request, plan) }
            } catch {
                return try fail(error)
            }
            return try check(adapted, builtBy: first, core.look())
        }
    }

    private func hasInterceptors(_ plan: AttemptPlan) -> Bool {
        !core.context.configuration.interceptors.isEmpty || !plan.settings.interceptors.isEmpty
    }

    /// The session's interceptors, then the request's.
    private func interceptors(_ plan: AttemptPlan) -> [any RequestInterceptor] {
        core.context.configuration.interceptors + plan.settings.interceptors
    }

    /// The request as adapters and the receiver change it. After a cancel no further one is asked.
    private func adapted(
        _ built: OutgoingRequest, _ plan: AttemptPlan
    ) async throws -> OutgoingRequest {
        var request = built
        for interceptor in interceptors(plan) {
            let timeLeft = try core.enter(.adapting).deadlines.timeLeft
            guard !Task.isCancelled else { throw Exit.abandon }
            let state = RequestAdapterState(
                requestID: core.id, session: session, attempt: plan.number, timeLeft: timeLeft, core: core)
            do { try await interceptor.adapt(&request, using: state) } catch {
                throw RequestError(wrapping: error, as: .adaptationFailed, stage: .adapting, about: request)
            }
        }
        guard !Task.isCancelled else { throw Exit.abandon }
        if !request.isSame(as: built) { core.emit(.adapt(from: built, to: request)) }
        guard let receiver = core.receiver else { return request }
        guard core.isWithPipeline else { throw Exit.abandon }
        do { return try await receiver.prepare(request, for: built.url) } catch {
            throw RequestError(wrapping: error, as: .receivingFailed, stage: .building, about: request)
        }
    }

    /// Checks the request after the last adapter, so that no change escapes the check. Then calls the creation handlers.
    private func check(
        _ adapted: OutgoingRequest, builtBy first: AttemptPlan, _ plan: AttemptPlan
    ) throws(Exit) -> Next {
        var request = adapted
        do throws(RequestError) {
            try request.complete(knowing: core.context.knownHeaders)
            try plan.settings.authentication?.join(&request)
        } catch {
            return try fail(RequestError(wrapping: error, as: .invalidCredential, stage: .building, about: request))
        }
        core.watch(request, builtWithin: first.settings.timeouts)
        let (created, plan) = (request, try core.didCreate(request))
        guard !plan.settings.creationHandlers.isEmpty else { return intercept(created, plan) }
        return .later { () async throws(Exit) in
            for handler in plan.settings.creationHandlers where core.isWithPipeline {
                try? await inTime(plan) { await handler(created) }  // a hop that begins too late is cut at once
            }
            return intercept(created, try core.look())
        }
    }

    /// The request could not be made. The attempt has no hop, and its retriers are asked.
    private func fail(_ error: any Error) throws(Exit) -> Next {
        if let exit = error as? Exit { throw exit }
        let error = RequestError(wrapping: error, as: .adaptationFailed, stage: .adapting)
        let plan = try core.settle().plan
        core.emit(.failCreation(error))
        let exchange = CompletedExchange(attempts: plan.number, past: core.read { $0.past })
        return try conclude(failed(error, exchange), plan)
    }

    // MARK: Sending

    private func intercept(_ request: OutgoingRequest, _ plan: AttemptPlan) -> Next {
        guard !plan.settings.middleware.isEmpty else { return .wait(request, plan, HopLoop()) }
        return .later { () async throws(Exit) in
            try core.enter(.sending)
            let exchange = try await send(request, through: plan.settings.middleware, attempt: plan.number)
            return .now(.examine(exchange, try core.look()))
        }
    }

    // MARK: Validating

    /// Gates first, then validators.
    func examine(_ exchange: CompletedExchange, _ plan: AttemptPlan) throws(Exit) -> Next {
        // The head of a body that goes to a receiver was validated before the first byte.
        guard exchange.error == nil, core.receiver == nil else { return try conclude(exchange, plan) }
        guard !plan.gates.isEmpty else { return try validate(exchange, plan) }
        return .later { () async throws(Exit) in
            try validate(await passGates(exchange, plan), core.look())
        }
    }

    /// Validators in order: the session's are the first of the request's. The first failure ends it.
    private func validate(_ exchange: CompletedExchange, _ plan: AttemptPlan) throws(Exit) -> Next {
        guard exchange.error == nil, !plan.settings.validators.isEmpty else { return try conclude(exchange, plan) }
        for validator in plan.settings.validators {
            do {
                if try validator.checkAtOnce(exchange) { continue }
            } catch {
                return try conclude(refused(exchange, by: error), plan)
            }
            return .later { () async throws(Exit) in try conclude(await validated(exchange), core.look()) }
        }
        if plan.isObserved { core.emit(.validate(nil)) }
        return try conclude(exchange, plan)
    }

    /// The exchange, with the refusal of the first validator that refuses it.
    func validated(_ exchange: CompletedExchange) async throws(Exit) -> CompletedExchange {
        let plan = try core.enter(.validating)
        let validators = plan.settings.validators
        guard !validators.isEmpty else { return exchange }
        for validator in validators {
            guard core.isWithPipeline else { throw .abandon }
            do { try await inTime(plan) { try await validator.validate(exchange) } } catch {
                return refused(exchange, by: error)
            }
        }
        core.emit(.validate(nil))
        return exchange
    }

    private func refused(_ exchange: CompletedExchange, by error: any Error) -> CompletedExchange {
        let wrapped = RequestError(wrapping: error, as: .validationFailed, stage: .validating)
        core.emit(.validate(wrapped))
        return failed(wrapped, exchange)
    }

    func failed(_ error: RequestError, _ exchange: CompletedExchange) -> CompletedExchange {
        exchange.failed(with: error.adding(to: exchange, requestID: core.id))
    }

    // MARK: Retrying

    private func conclude(_ exchange: CompletedExchange, _ plan: AttemptPlan) throws(Exit) -> Next {
        let isJudged = exchange.error != nil && hasInterceptors(plan)
        guard isJudged || core.receiver != nil else {
            if let error = exchange.error { try core.endAttempt(error) }
            // The state takes no response of a slot that was withdrawn meanwhile.
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

    private enum Decision {
        /// The next attempt has begun.
        case again
        /// The failure stands, or another one takes its place.
        case over(RequestError?)
    }

    /// Asks the session's retriers, then the request's, and waits if one of them wants another attempt.
    private func askRetriers(_ error: RequestError) async throws(Exit) -> Decision {
        let interceptors = interceptors(try core.look())
        guard !interceptors.isEmpty, core.receiver?.canBeginAgain ?? true, let request = core.face else {
            return .over(nil)
        }
        try core.enter(.retrying)
        let delay: Duration
        switch await ComposedInterceptor(interceptors).retry(request, for: session, dueTo: error) {
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

    // MARK: Serializing

    /// Serializers in order; each failure of their own asks the retriers.
    ///
    /// - Parameter held: The response of the serializer before.
    private func serialize(_ exchange: CompletedExchange, _ held: HeldResponse?) throws(Exit) -> Next {
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
        core.emit(.serialize(failure))
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
            // Never before the function that attached them has returned: its caller may hold a lock that they want.
            if ThreadMarks.isStarting { Task { await core.callHandlers() } } else { await core.callHandlers() }
            return .done
        }
    }
}
