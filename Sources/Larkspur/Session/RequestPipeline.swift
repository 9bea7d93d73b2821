/// The way of one request, top to bottom: the only retry loop, the only hop loop.
///
/// It runs on one task, which a request that asks nobody does without (`RequestPipeline+ShortWay.swift`). Each step asks
/// the request's state whether it is still its turn: after a cancel somebody else finishes, and the pipeline leaves by
/// `RequestCore.Exit` wherever it happens to be.
struct RequestPipeline: Sendable {
    let core: RequestCore
    let face: any Request
    let session: Session

    typealias Exit = RequestCore.Exit

    /// Sets the pipeline going. Unstructured: the exchange goes on whether or not anybody awaits it.
    ///
    /// On Linux a request without code of its user's runs on the caller's thread up to its first wait: to hand it to another
    /// thread costs more than all else that the framework does for it. One that starts inside another's first stretch is
    /// handed over all the same, or a chain of them would grow the stack without end. On Apple platforms callers are often
    /// on the main thread, which is not for this.
    func start() {
        #if canImport(Darwin)
            core.keep(Task { await run() })
        #else
            guard core.isPlain, !ThreadMarks.isStarting else { return core.keep(Task { await run() }) }
            ThreadMarks.isStarting = true
            defer { ThreadMarks.isStarting = false }
            if !startShortWay() { core.keep(Task.immediate { await run() }) }
        #endif
    }

    /// Takes over from the short way, after the first hop, with nothing of the task that happens to be there.
    func goOn(after sent: CompletedExchange) {
        core.keep(Task.detached { await run(after: sent) })
    }

    private func run(after sent: CompletedExchange? = nil) async {
        guard !core.refreshes.isEmpty else { return await loop(after: sent) }
        await Refresh.$current.withValue(Refresh.current + core.refreshes) { await loop(after: sent) }
    }

    private func loop(after sent: CompletedExchange?) async {
        do throws(Exit) {
            var number = 1
            while try await !attempt(number, after: number == 1 ? sent : nil) { number += 1 }
        } catch {
            switch error {
            case .abandon: break
            case .unwind: core.unwind()
            }
        }
    }

    /// One attempt: build, adapt, send, validate, serialize. Returns whether the request is finished.
    ///
    /// - Parameter sent: What came of the first hop, if it was sent already.
    private func attempt(_ number: Int, after sent: CompletedExchange?) async throws(Exit) -> Bool {
        var exchange = if let sent { try await goThroughHops(.ended(sent)) } else { try await send(number) }
        // The heads of live bodies were validated before anybody was given the first byte.
        if exchange.error == nil, core.receiver == nil {
            exchange = try await passGatesInTime(exchange)
            if exchange.error == nil { exchange = try await validate(exchange) }
        }
        if let error = exchange.error {
            switch try await askRetriers(error) {
            case .again: return false
            case .over(let other): exchange = other.map(exchange.failed) ?? exchange
            }
        }
        if let receiver = core.receiver { exchange = await receiver.result(exchange) }
        return try await serialize(exchange)
    }

    // MARK: Building and adapting

    /// Builds, adapts and checks. Nil if the request was taken away meanwhile: nobody else is asked then.
    func prepare(_ number: Int) async throws(RequestError) -> OutgoingRequest? {
        let limits = core.read { $0.settings.timeouts }
        var request = try await core.source.build(in: core.context, within: limits)
        let built = request
        for interceptor in interceptors(at: .adapting) {
            guard core.isWithPipeline, !Task.isCancelled else { return nil }
            let state = RequestAdapterState(
                requestID: core.id, session: session, attempt: number, timeLeft: core.timeLeft, core: core)
            do {
                try await interceptor.adapt(&request, using: state)
            } catch {
                throw RequestError(wrapping: error, as: .adaptationFailed, stage: .adapting, about: request)
            }
        }
        guard core.isWithPipeline, !Task.isCancelled else { return nil }
        if !request.isSame(as: built) { core.emit(.adapt(from: built, to: request)) }
        if let receiver = core.receiver {
            do { request = try await receiver.prepare(request, for: built.url) } catch {
                throw RequestError(wrapping: error, as: .receivingFailed, stage: .building, about: request)
            }
        }
        try request.complete(knowing: core.context.knownHeaders)
        if let authentication = core.read({ $0.settings.authentication }) {
            do { try authentication.join(&request) } catch {
                throw RequestError(wrapping: error, as: .invalidCredential, stage: .building, about: request)
            }
        }
        // Left behind, it must not set limits for the attempt that has followed.
        guard !Task.isCancelled else { return nil }
        core.watch(request, builtWithin: limits, face)
        return request
    }

    // MARK: Sending

    /// Prepares the request and sends it. Returns with the phase at `settling`, whatever came of it.
    private func send(_ number: Int) async throws(Exit) -> CompletedExchange {
        try core.beginAttempt()
        core.watchAttempt(face)
        let request: OutgoingRequest
        switch await prepared(number) {
        case .success(let prepared?): request = prepared
        case .success(nil): throw .abandon
        case .failure(let error):
            try core.step(.settle)
            core.emit(.failCreation(error))
            return failed(error, CompletedExchange(attempts: number, past: core.read { $0.past }))
        }
        for handler in try core.didCreate(request) where core.isWithPipeline { await show(request, to: handler) }
        core.emit(.create(request))
        let middleware = core.enter(.sending) { $0.settings.middleware }
        guard middleware.isEmpty else { return try await send(request, through: middleware, attempt: number) }
        return try await goThroughHops(core.perform(request, for: session))
    }

    /// From what came of the first hop to what came of the last one, its body received.
    private func goThroughHops(_ first: HopOutcome) async throws(Exit) -> CompletedExchange {
        switch try await hops(first) {
        case .ended(let exchange): return exchange
        case .live(let head, let body): return try await receive(body, of: head)
        case .redirect, .gated, .notBegun: throw .abandon
        }
    }

    enum Step {
        case send(OutgoingRequest)
        case stop(HopOutcome)
    }

    /// The hop loop: from what came of the first hop to a response that is the answer.
    ///
    /// - Parameter earlier: How many of the attempt's hops are none of this loop's.
    func hops(_ first: HopOutcome, after earlier: Int = 0) async throws(Exit) -> HopOutcome {
        var outcome = first
        var inquiries = TrustInquiries()
        while true {
            core.keepCookies(of: outcome)
            core.learnFromCredential(of: outcome)
            let step: Step
            switch outcome {
            case .ended(let exchange): step = try await judgeEnd(exchange, after: earlier, &inquiries)
            case .redirect(let head, let body): step = try await judgeRedirect(head, body, after: earlier)
            case .gated(let head): step = try await collect(head)
            case .live, .notBegun: return outcome
            }
            switch step {
            case .send(let request): outcome = try await core.perform(request, for: session)
            case .stop(let end): return end
            }
        }
    }

    /// What follows a hop that has ended, and about which nobody is asked.
    ///
    /// - Parameter inquiries: Those that the loop has made.
    private func judgeEnd(
        _ exchange: CompletedExchange, after earlier: Int, _ inquiries: inout TrustInquiries
    ) async throws(Exit) -> Step {
        try core.step(.settle)
        var error = exchange.hop?.error
        if error != nil, let (request, inquiry) = core.takeInquiry() {
            var refusal = inquiries.refusal(of: inquiry)
            if refusal == nil { refusal = await settle(inquiry) }
            guard let refusal else { return .send(request) }
            error = refusal
        }
        if let error { return .stop(.ended(try failed(by: error, exchange))) }
        let hops = core.read { $0.attempt?.hops ?? [] }
        let record = earlier == 0 ? hops : Array(hops.dropFirst(earlier))
        switch HopPolicy.verdict(on: record, cookies: { core.cookies(for: $0) }) {
        case .deliver: return .stop(.ended(decoded(exchange)))
        case .refuse(let error), .fail(let error):
            return .stop(
                .ended(failed(RequestError(wrapping: error, as: .redirectRefused, stage: .sending), exchange)))
        case .follow(let next, let isRedirect):
            core.emit(isRedirect ? .redirect(next) : .amend(next))
            return .send(next)
        }
    }

    func failed(by error: TransportError, _ exchange: CompletedExchange) throws(Exit) -> CompletedExchange {
        let failure = try core.failure(from: error, face)
        return failed(RequestError(wrapping: failure, as: .connectionLost, stage: .sending), exchange)
    }

    func failed(_ error: RequestError, _ exchange: CompletedExchange) -> CompletedExchange {
        exchange.failed(with: error.adding(to: exchange, requestID: core.id))
    }

    // MARK: Validating

    /// Validators in order: the session's are the first of the request's. The first failure ends it.
    func validate(_ exchange: CompletedExchange) async throws(Exit) -> CompletedExchange {
        let validators = core.enter(.validating) { $0.settings.validators }
        guard !validators.isEmpty else { return exchange }
        for validator in validators {
            guard core.isWithPipeline else { throw .abandon }
            do {
                try await validate(exchange, by: validator)
            } catch {
                let wrapped = RequestError(wrapping: error, as: .validationFailed, stage: .validating)
                core.emit(.validate(wrapped))
                return failed(wrapped, exchange)
            }
        }
        core.emit(.validate(nil))
        return exchange
    }

    // MARK: Retrying

    private enum Decision {
        /// The next attempt has begun.
        case again
        /// The failure stands, or another one takes its place.
        case over(RequestError?)
    }

    /// Asks the session's retriers, then the request's, and waits if one of them wants another attempt.
    private func askRetriers(_ error: RequestError) async throws(Exit) -> Decision {
        let interceptors = interceptors(at: .retrying)
        guard !interceptors.isEmpty, core.receiver?.canBeginAgain ?? true else { return .over(nil) }
        let delay: Duration
        switch await ComposedInterceptor(interceptors).retry(face, for: session, dueTo: error) {
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

    /// Serializers in order; each failure of their own asks the retriers. Returns whether the request is finished.
    private func serialize(_ exchange: CompletedExchange) async throws(Exit) -> Bool {
        if let error = exchange.error { try core.endAttempt(error) }
        while true {
            switch core.nextWork(finishingBy: .finish, with: exchange) {
            case .serialize(let slot, let job):
                let (response, failure) = await serialize(job, exchange)
                guard core.hold(response, in: slot, during: .settling) else { continue }
                core.emit(.serialize(failure))
                guard let failure else { continue }
                switch try await askRetriers(failure) {
                case .again: return false
                case .over(nil): break
                case .over(let other?): core.hold(job.fail(exchange, other), in: slot, during: .settling)
                }
            case .finished(let finish):
                guard finish.callsHandlers else { return true }
                // Never before the function that attached them has returned: its caller may hold a lock that they want.
                if ThreadMarks.isStarting { Task { await core.callHandlers() } } else { await core.callHandlers() }
                return true
            case .abandon: throw .abandon
            }
        }
    }
}
