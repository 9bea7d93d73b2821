import LarkspurTransport

/// The way of one request, top to bottom: the only retry loop, the only hop loop.
///
/// It runs on one task. Each step asks the request's state whether it is still its turn: after a cancel somebody else
/// finishes, and the pipeline leaves by `RequestCore.Exit` wherever it happens to be.
struct RequestPipeline: Sendable {
    let core: RequestCore
    let face: any Request
    let session: Session

    private typealias Exit = RequestCore.Exit

    /// Sets the pipeline going. Unstructured: the exchange goes on whether or not anybody awaits it.
    ///
    /// On Linux it runs on the caller's thread up to its first wait, which saves handing it to another one: that costs
    /// more than everything else the framework does for a request. One that starts inside another's first stretch (from
    /// a closure called at once) is handed over all the same, or a chain of them would grow the stack without end. On
    /// Apple platforms callers are often on the main thread, which is not for this.
    func start() -> Task<Void, Never> {
        #if canImport(Darwin)
            return Task { await run() }
        #else
            guard !ThreadMarks.isStarting else { return Task { await run() } }
            ThreadMarks.isStarting = true
            defer { ThreadMarks.isStarting = false }
            return Task.immediate { await run() }
        #endif
    }

    private func run() async {
        do throws(Exit) {
            var number = 1
            while try await !attempt(number) {
                number += 1
            }
        } catch {
            switch error {
            case .abandon: break
            case .unwind: core.unwind(face)
            }
        }
    }

    /// One attempt: build, adapt, send, validate, serialize. Returns whether the request is finished.
    private func attempt(_ number: Int) async throws(Exit) -> Bool {
        core.beginAttempt()
        var exchange = try await send(number)
        if exchange.error == nil { exchange = try await validate(exchange) }
        if let error = exchange.error {
            switch try await askRetriers(error) {
            case .again: return false
            case .over(let error): exchange = exchange.failed(with: error)
            }
        }
        return try await serialize(exchange)
    }

    // MARK: Building and adapting

    private func prepare(_ number: Int) async throws(RequestError) -> OutgoingRequest {
        var request = try await core.source.build(in: core.context)
        let interceptors = core.read { $0.settings.interceptors }
        let state = RequestAdapterState(requestID: core.id, session: session, attempt: number)
        do {
            for interceptor in core.context.interceptors { try await interceptor.adapt(&request, using: state) }
            for interceptor in interceptors { try await interceptor.adapt(&request, using: state) }
        } catch {
            throw RequestError(wrapping: error, as: .adaptationFailed, stage: .adapting)
        }
        request.moveUserInfoToHeader()
        do {
            try request.check()
        } catch {
            throw RequestError(wrapping: error, as: .invalidRequest, stage: .building)
        }
        return request
    }

    // MARK: Sending

    /// The hop loop. Returns with the phase at `settling`, whatever came of it.
    private func send(_ number: Int) async throws(Exit) -> CompletedExchange {
        var request: OutgoingRequest
        do {
            request = try await prepare(number)
        } catch {
            try core.step(.settle)
            return failed(error, CompletedExchange(attempts: number))
        }
        for handler in core.didCreate(request) { await handler(request) }
        core.emit(.create(request))
        while true {
            let (exchange, verdict) = try await core.perform(request, for: session)
            try core.step(.settle)
            if let error = exchange.hop?.error {
                return failed(RequestError(wrapping: error, as: .connectionLost, stage: .sending), exchange)
            }
            switch verdict {
            case .deliver: return exchange
            case .fail(let error):
                return failed(RequestError(wrapping: error, as: .redirectRefused, stage: .sending), exchange)
            case .follow(let next):
                core.emit(.redirect(next))
                request = next
            }
        }
    }

    private func failed(_ error: RequestError, _ exchange: CompletedExchange) -> CompletedExchange {
        exchange.failed(with: error.adding(to: exchange, requestID: core.id))
    }

    // MARK: Validating

    /// Validators in order: the session's are the first of the request's. The first failure ends it.
    private func validate(_ exchange: CompletedExchange) async throws(Exit) -> CompletedExchange {
        let validators = core.read { $0.settings.validators }
        guard !validators.isEmpty else { return exchange }
        do {
            for validator in validators { try await validator.validate(exchange) }
        } catch {
            let wrapped = RequestError(wrapping: error, as: .validationFailed, stage: .validating)
            core.emit(.validate(wrapped))
            return failed(wrapped, exchange)
        }
        core.emit(.validate(nil))
        return exchange
    }

    // MARK: Retrying

    private enum Decision {
        /// The next attempt has begun.
        case again
        /// The failure stands, in these words.
        case over(RequestError)
    }

    /// Asks the session's retriers, then the request's, and waits if one of them wants another attempt.
    private func askRetriers(_ error: RequestError) async throws(Exit) -> Decision {
        let interceptors = core.context.interceptors + core.read { $0.settings.interceptors }
        guard !interceptors.isEmpty else { return .over(error) }
        let delay: Duration
        switch await ComposedInterceptor(interceptors).retry(face, for: session, dueTo: error) {
        case .doNotRetry: return .over(error)
        case .doNotRetryWithError(let retryError):
            return .over(error.replaced(byRetrierWith: retryError))
        case .retry: delay = .zero
        case .retryAfter(let duration): delay = max(.zero, duration)
        }
        guard core.canSendAgain else {
            return .over(
                error.replaced(
                    byRetrierWith: RequestError(
                        .bodyNotReplayable,
                        "a retrier asked for another attempt, but the request's body can be sent only once")))
        }
        core.endAttempt(error, retryingAfter: delay)
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
        if let error = exchange.error { core.endAttempt(error) }
        while true {
            switch core.nextWork(finishingBy: .finish, with: exchange) {
            case .serialize(let slot, let job):
                let (response, failure) = await job.run(exchange)
                core.hold(response, in: slot, during: .settling)
                core.emit(.serialize(failure))
                guard let failure else { continue }
                switch try await askRetriers(failure) {
                case .again: return false
                case .over(let error): core.hold(job.fail(exchange, error), in: slot, during: .settling)
                }
            case .finished(let finish):
                if finish.callsHandlers { await core.callHandlers() }
                return true
            case .abandon:
                throw .abandon
            }
        }
    }
}
