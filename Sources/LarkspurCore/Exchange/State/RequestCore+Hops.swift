/// Functions that begin and end hops, and that handle the transport's events.
extension RequestCore {
    /// Performs a hop in the request's task. Usually returns when the hop ends. Returns when the head arrives if the
    /// body is not kept in memory, or if response gates or a redirect handler have to see the head.
    ///
    /// - Parameter turn: The turn of a monitor that delays requests. It ends when the hop has begun.
    func perform(
        _ request: OutgoingRequest, _ plan: AttemptPlan, for session: Session, in turn: MonitorTurn? = nil
    ) async throws(Exit) -> HopOutcome {
        let outcome = await suspended { (continuation: HopProgress.OutcomeContinuation) in
            let isGated = receiver == nil && plan.gatesSeeHead
            let verdict = beginHop(request, for: session, .pipeline(continuation), isGated: isGated)
            turn?.end()
            if verdict != .proceed { continuation.resume(returning: .notBegun(verdict)) }
            // Middleware may have cancelled the task that calls `next` before the hop began.
            if Task.isCancelled { endHop() }
        }
        guard case .notBegun(let verdict) = outcome else { return outcome }
        try obey(verdict)
        throw .abandon
    }

    /// Creates the transport's task, and starts it unless the request was cancelled.
    ///
    /// - Parameters:
    ///   - waiter: The party that runs the next steps when the hop ends.
    ///   - isGated: Whether the transport delivers only the first part of the body until response gates have seen the
    ///     head.
    func beginHop(
        _ request: OutgoingRequest, for session: Session, _ waiter: HopProgress.Waiter, isGated: Bool = false
    ) -> RequestPhase.Verdict {
        let channel = receiver.map { ByteChannel(capacity: $0.capacity, budget: $0.budget) }
        let allowance = channel?.initialAllowance ?? (isGated ? BodySink.gatedAllowance : .max)
        var hop = OutgoingHop(request, of: self)
        let sent = hop.prepare(by: context.participants.preparing)
        var final = sent.transportRequest(initialAllowance: allowance, timeLeft: timeLeft)
        let (kept, draft) = (hop.request, hop.instructions.cache?.draft)
        hop.complete(&final, sending: sent)
        let task = context.transport(for: final, refusedWith: hop.refusal).task(
            for: final, id: context.registerTask(of: self), delegate: session.delegate)
        channel?.connect { task.allow(upTo: $0) }
        let sink = channel.map(BodySink.channel) ?? .memory(Data())
        let beginning = update { state in
            state.begin(HopProgress(task, kept, sink, waiter, isGated: isGated, draft: draft), sending: sent)
        }
        return act(on: beginning, of: task, sending: sent)
    }

    /// Starts the task of a hop that has begun. Drops the task if the request was cancelled.
    private func act(
        on beginning: RequestState.HopBeginning, of task: any TransportTask, sending sent: OutgoingRequest
    ) -> RequestPhase.Verdict {
        guard beginning.verdict == .proceed else {
            context.remove(task.id)
            task.cancel()
            return beginning.verdict
        }
        if !beginning.followers.isEmpty { tell(sent, to: beginning.followers, of: .requests) }
        // Before the hop's start, so that a hop that is late sends nothing.
        if sent.options.timeouts.spanHops { cutHopIfLate() }
        applyPace(beginning.step)
        return beginning.verdict
    }

    /// Cancels the hop in flight, because its response is no longer needed.
    package func endHop() { read { $0.hop?.task }?.cancel() }

    /// Lets the transport deliver the whole body of the hop in flight.
    func allowBody() { read { $0.hop?.task }?.allow(upTo: .max) }

    /// The way to handle the rest of a body: keep it in memory, read and discard it so that the connection can be
    /// reused, or cut it off.
    enum RestOfBody { case collected, discarded, cancelled }

    /// Waits for the end of a hop whose head was delivered before its body. Returns the hop's result.
    func hopEnd(_ rest: RestOfBody) async -> HopOutcome {
        await suspended { continuation in
            let (task, isLong, ended) = box.withLock { state -> ((any TransportTask)?, Bool, CompletedExchange?) in
                let left = BodySink.discardLimit - Int(clamping: state.hop?.received ?? 0)
                state.hop?.waiter = .pipeline(continuation)
                if rest == .discarded { state.hop?.sink = .discard(budget: left) }
                return (state.hop?.task, left < 0, state.ended)
            }
            guard let task else {
                return continuation.resume(returning: ended.map(HopOutcome.ended) ?? .notBegun(.abandon))
            }
            switch rest {
            case .collected: task.allow(upTo: .max)
            case .discarded where !isLong: task.allow(upTo: .max)
            case .discarded, .cancelled: task.cancel()
            }
        }
    }

    /// Runs the steps after a hop whose end was left to an awaiter. Has no effect if another thread already runs these
    /// steps.
    func takeUpHop() {
        guard let (exchange, session, _) = box.withLock({ $0.takeUpHop() }) else { return }
        RequestPipeline(core: self, session: session).resume(after: .ended(exchange))
    }

    /// Runs the steps after a hop whose end was left to an awaiter, in an unstructured task.
    func takeUpHopInTask() { Task.detached { self.takeUpHop() } }

    // MARK: The transport's side

    /// Handles an event of the transport, on the transport's thread.
    package func receive(_ event: TransportEvent, for id: TransportTaskID) {
        let (action, isDue, news) = box.withLock { state in
            (state.receive(event, for: id), state.pendingEvents.begin(), state.news(of: event, for: id))
        }
        // Before the event, so that who learns of the wait finds that the time stands still.
        if case .admission(let part) = event { adjustAttemptTimeout(to: part, of: id) }
        if case .metrics(let metrics) = event, metrics.repetitions > 0 {
            context.retryAccount?.charge(metrics.repetitions)
        }
        if isDue { deliverEvents() }
        if let news { tell(news) }
        switch action {
        case .none: break
        case .fill(let channel, let bytes): channel.receive(bytes)
        case .endHop(let task): task.cancel()
        case .reportUpload(let progress, let followers): tell(progress, to: followers, of: .upload)
        case .allowAll(let task): task.allow(upTo: .max)
        case .complete(let continuation, let outcome, _): continuation.resume(returning: outcome)
        case .endBody(let channel, let error, _):
            channel?.end(error.map { RequestError(wrapping: $0, as: .connectionLost) })
        case .resume(let outcome, let session, _):
            guard let session else { return assertionFailure("a request released its session before its hop ended") }
            RequestPipeline(core: self, session: session).resume(after: outcome)
        case .leave(let awaiter): awaiter.resume(returning: .takeUpHop)
        }
    }

    /// Answers a question of the transport, on the transport's thread.
    package func answer(
        _ question: TransportQuestion, for id: TransportTaskID, advisedBy advisor: (any TransportAdvisor)?
    ) {
        if case .bodyFromStart(_, let reply) = question {
            guard let source = sourceOfBody(), source.isReplayable else { return }
            emit(.rewindBody)
            return reply(source.open())
        }
        switch advisor?.answer(question) ?? .none {
        case .given: tell(of: question)
        case .inquires(let inquiry):
            tell(of: question)
            _ = box.withLock { state in
                defer { state.inquiry = inquiry }
                return state.inquiry  // the old inquiry; released after unlocking, because that may run user code
            }
        case .none:
            if case .serverTrust(_, let reply) = question { reply(.platformDefault) }
        // Without a client identity the handshake continues without one.
        }
    }

    /// Tells monitors how a question about a server was answered.
    private func tell(of question: TransportQuestion) {
        guard case .serverTrust(let peer, let reply) = question else { return }
        emit(.evaluateServer(ServerEvaluationEvent(peer, decision: reply.value)))
    }
}
