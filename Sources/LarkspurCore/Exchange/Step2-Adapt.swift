/// The second step: adapters change the request. After the last adapter, the request is checked.
extension RequestPipeline {
    /// - Parameter first: The plan at the time when the request was built. The user may have set other timeouts since
    ///   then.
    func adapt(
        _ request: OutgoingRequest, builtBy first: AttemptPlan, _ plan: AttemptPlan
    ) throws(Exit) -> Next {
        let request = plan.addingOptions(to: request)
        if let adapted = adaptedNow(request, plan) { return try check(adapted, builtBy: first, plan) }
        return .later { () async throws(Exit) in
            let adapted: OutgoingRequest
            do {
                adapted = try await inTime(plan) { try await self.adapted(request, plan) }
            } catch {
                return try fail(error)
            }
            return try check(adapted, builtBy: first, core.currentPlan())
        }
    }

    /// Returns the request as changed by its adapters; nil if they have to run in a task.
    private func adaptedNow(_ built: OutgoingRequest, _ plan: AttemptPlan) -> OutgoingRequest? {
        guard core.receiver?.preparesRequests != true, let sessions = core.context.promptAdapters else { return nil }
        let own = plan.settings.interceptors
        if sessions.isEmpty, own.isEmpty { return built }
        var adapters = sessions
        for interceptor in own {
            guard let adapter = interceptor as? any PromptAdapter else { return nil }
            adapters.append(adapter)
        }
        guard adapters.allSatisfy({ $0.isPrompt(for: built, of: core) }) else { return nil }
        var request = built
        for adapter in adapters { adapter.adaptNow(&request, of: core) }
        if !request.isSame(as: built) { core.emit(.adapt(from: built, to: request)) }
        return request
    }

    func hasInterceptors(_ plan: AttemptPlan) -> Bool {
        !core.context.configuration.interceptors.isEmpty || !plan.settings.interceptors.isEmpty
    }

    /// Returns the session's interceptors, followed by the request's interceptors.
    func interceptors(_ plan: AttemptPlan) -> [any RequestInterceptor] {
        core.context.configuration.interceptors + plan.settings.interceptors
    }

    /// Returns the request as changed by the adapters and by the receiver of the body. After a cancel, no further
    /// adapter is called.
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

    /// Checks the request after the last adapter has changed it, and then calls the creation handlers.
    private func check(
        _ adapted: OutgoingRequest, builtBy first: AttemptPlan, _ plan: AttemptPlan
    ) throws(Exit) -> Next {
        var request = adapted
        if let priority = plan.settings.priority { request.options.priority = priority }
        do throws(RequestError) {
            try core.retarget(&request)
            try request.complete(knowing: core.context.headers.known)
            try plan.settings.responder?.join(&request)
        } catch {
            return try fail(RequestError(wrapping: error, as: .invalidCredential, stage: .building, about: request))
        }
        core.reportIgnoredSettings(of: request)
        core.watch(request, builtWithin: first.settings.timeouts)
        let (created, plan) = (request, try core.didCreate(request))
        guard !plan.settings.creationHandlers.isEmpty else { return intercept(created, plan) }
        return .later { () async throws(Exit) in
            for handler in plan.settings.creationHandlers where core.isWithPipeline {
                try? await inTime(plan) { await handler(created) }  // after a timeout, the following hop fails at once
            }
            return intercept(created, try core.currentPlan())
        }
    }

    /// Fails an attempt whose request could not be created. Retriers are then asked about the failure.
    func fail(_ error: any Error) throws(Exit) -> Next {
        if let exit = error as? Exit { throw exit }
        let error = RequestError(wrapping: error, as: .adaptationFailed, stage: .adapting)
        let plan = try core.settle().plan
        core.emit(.failCreation(error))
        let exchange = CompletedExchange(attempts: plan.number, past: core.read { $0.past })
        return try conclude(failed(error, exchange), plan)
    }
}

extension AttemptPlan {
    /// Returns the built request with the options that the request object has set.
    fileprivate func addingOptions(to built: OutgoingRequest) -> OutgoingRequest {
        if settings.added.isEmpty { return built }
        var request = built
        request.options.added.replace(with: settings.added)
        return request
    }
}
