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
        var request = request
        request.renewCookies { cookies(for: $0) }
        request.renewCredentials(from: context.configuration.credentials)
        let id = context.registerTask(of: self)
        let channel = receiver.map { ByteChannel(capacity: $0.capacity, budget: $0.budget) }
        let isLimited = request.options.timeouts.spanHops
        let (sent, refusal) = addingHopFields(to: request)
        var transportRequest = sent.transportRequest(
            initialAllowance: channel?.initialAllowance ?? (isGated ? BodySink.gatedAllowance : .max),
            timeLeft: isLimited ? timeLeft : nil)
        if let trust = context.trust, request.url.isHTTPS, let host = request.url.host {
            transportRequest.asksForTrust = trust.covers(String(host))
            transportRequest.trustGeneration = trust.generation(of: String(host))
        }
        if let source = copyingBody(of: request) { transportRequest.body = .stream(source) }
        transportRequest.cache = cacheInstructions(for: request)
        if let priority = request.priority { transportRequest.priority = priority }
        context.prepare(&transportRequest, of: self)
        let task = (refusal ?? context.transport(for: transportRequest))
            .task(for: transportRequest, id: id, delegate: session.delegate)
        channel?.connect { task.allow(upTo: $0) }
        let sink = channel.map(BodySink.channel) ?? .memory(Data())
        let draft = transportRequest.cache?.draft
        let (verdict, events, followers, step) = box.withLock { state in
            let verdict = state.beginHop(HopProgress(task, request, sink, waiter, isGated: isGated, draft: draft))
            let step = verdict == .proceed ? state.nextPaceStep(after: nil) : nil
            if verdict == .proceed { state.noteBeginning(of: sent) }
            return (verdict, state.pendingEvents.begin(), state.settings.content.followers.requests, step)
        }
        post(events)
        guard verdict == .proceed else {
            context.remove(id)
            task.cancel()
            return verdict
        }
        if !followers.isEmpty { tell(sent, to: followers, of: .requests) }
        if isLimited { cutHopIfLate() }  // before the hop's start, so that a hop that is late sends nothing
        applyPace(step)
        return verdict
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
        let (action, events, news) = box.withLock { state in
            (state.receive(event, for: id), state.pendingEvents.begin(), state.news(of: event, for: id))
        }
        // Before the event, so that who learns of the wait finds that the time stands still.
        if case .admission(let part) = event { adjustAttemptTimeout(to: part, of: id) }
        if case .metrics(let metrics) = event, metrics.repetitions > 0 {
            context.retryAccount?.charge(metrics.repetitions)
        }
        post(events)
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
    package func answer(_ question: TransportQuestion, for id: TransportTaskID, trust: TrustPolicy?) {
        switch question {
        case .serverTrust(let peer, let reply):
            switch trust?.verdict(on: peer) ?? .decided(.platformDefault) {
            case .decided(let decision): reply(decision)
            case .asks(let inquiry):
                _ = box.withLock { state in
                    defer { state.inquiry = inquiry }
                    return state.inquiry  // the old inquiry; released after unlocking, because that may run user code
                }
                reply(.refused(reason: "the server's certificate is still being evaluated"))
            }
        case .clientIdentity:
            break  // no client identity is configured, so the handshake continues without one
        case .bodyFromStart(_, let reply):
            guard let source = sourceOfBody(), source.isReplayable else { return }
            emit(.rewindBody)
            reply(source.open())
        }
    }
}
