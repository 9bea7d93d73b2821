/// The request's part in the admission of its hops, which is in `AdmittingTransport`.
extension RequestCore {
    /// Adds the priority and, if the session has admissions, the facts that they need.
    func addFlow(to transportRequest: inout TransportRequest, of request: OutgoingRequest) {
        if let priority = request.priority { transportRequest.priority = priority }
        guard context.needsFlow else { return }
        let total = read { $0.deadlines.total }
        transportRequest.flow = FlowInstructions(
            kind: kind(of: request), session: context.flowOwner, timeLeft: total?.timeLeft)
    }

    private func kind(of request: OutgoingRequest) -> HopKind {
        if request.options.upgrade != nil { return .webSocket }
        guard let receiver else { return .data }
        return receiver is DownloadFile ? .download : .stream
    }

    /// Stops the time of the attempt while the hop waits for its admission.
    func adjustAttemptTimeout(to part: AdmissionEvent, of task: TransportTaskID) {
        switch part {
        case .waits:
            guard let deadline = read({ $0.deadlines.attempt }) else { return }
            let paused = PausedDeadline(deadline)
            let isPaused = box.withLock { state in
                guard state.hop?.id == task, state.deadlines.attempt === deadline else { return false }
                (state.deadlines.attempt, state.deadlines.paused) = (nil, paused)
                return true
            }
            if isPaused { deadline.retire(for: nil) }
        case .admitted:
            guard let paused = read({ $0.hop?.id == task ? $0.deadlines.paused : nil }) else { return }
            let clock = context.configuration.clock
            if clock is ContinuousClock || clock is SuspendingClock { return resumeAttempt(paused) }
            // This may be a thread of the transport, which must not call a clock of the user, so the time goes on in a
            // task (rule R2 in Concurrency.md).
            Task.detached { self.resumeAttempt(paused) }
        }
    }

    /// Continues the attempt's timeout, also if the hop has ended meanwhile: it covers all hops of the attempt.
    private func resumeAttempt(_ paused: PausedDeadline) {
        let next = Deadline(continuing: paused)
        let isKept = box.withLock { state in
            guard state.deadlines.paused?.deadline === paused.deadline, state.isWithPipeline,
                state.deadlines.attempt == nil
            else { return false }
            (state.deadlines.attempt, state.deadlines.paused) = (next, nil)
            return true
        }
        if isKept { next.start { self.end(by: next) } }
    }
}

extension Deadlines {
    /// Removes and returns the timeout of the attempt, which has ended.
    mutating func takeAttempt() -> Deadline? {
        paused = nil
        return attempt.take()
    }
}

extension Request {
    /// Sets the priority of the request where requests wait for a limit, in place of the session's priority.
    ///
    ///     await session.request(url).priority(.high)
    ///
    /// A change applies from the next attempt on.
    @discardableResult
    public func priority(_ priority: RequestPriority) -> Self {
        handle.core.set("priority") { $0.priority = priority }
        return self
    }
}

extension SessionConfiguration {
    /// Returns the transport that asks the configuration's admissions before it passes hops on to the given transport.
    func admitting(_ transport: any Transport, _ limiter: Limiter?) -> any Transport {
        rateLimit?.bind(clock)
        var all = admissions
        if let rateLimit { all.append(rateLimit) }
        if let limiter { all.append(limiter) }
        return all.isEmpty ? transport : AdmittingTransport(transport, all)
    }
}

extension SessionContext {
    /// Whether a transport between the session and its engine needs facts that only the framework knows.
    var needsFlow: Bool {
        limiter != nil || configuration.rateLimit != nil || configuration.coalescing != nil
            || !configuration.admissions.isEmpty
    }
}
