/// Hops: handed to the transport, followed by its events, ended, and taken up where no task waits for them.
extension RequestCore {
    /// Hands one hop to the transport and waits for its end, or for the head of a body that is not kept in memory.
    func perform(_ request: OutgoingRequest, _ plan: AttemptPlan, for session: Session) async throws(Exit) -> HopOutcome
    {
        let outcome = await suspended { (continuation: HopProgress.Continuation) in
            let isGated = receiver == nil && plan.gatesSeeHead
            let verdict = beginHop(request, for: session, .pipeline(continuation), isGated: isGated)
            if verdict != .proceed { continuation.resume(returning: .notBegun(verdict)) }
            // Middleware may have cancelled its call of `next` before there was a hop to end.
            if Task.isCancelled { endHop() }
        }
        guard case .notBegun(let verdict) = outcome else { return outcome }
        try obey(verdict)
        throw .abandon
    }

    /// Makes the transport's task and, if the state takes it, sets it going.
    ///
    /// - Parameter isGated: Response gates see the head before the transport may deliver more than the body's first part.
    func beginHop(
        _ request: OutgoingRequest, for session: Session, _ waiter: HopProgress.Waiter, isGated: Bool = false
    ) -> RequestPhase.Verdict {
        var request = request
        request.renewCookies { cookies(for: $0) }
        request.renewCredentials(from: context.configuration.credentials)
        let id = context.registerTask(of: self)
        let channel = receiver.map { ByteChannel(capacity: $0.capacity, budget: $0.budget) }
        let isLimited = request.options.timeouts.spanHops
        var transportRequest = request.transportRequest(
            initialAllowance: channel?.initialAllowance ?? (isGated ? BodySink.gatedAllowance : .max),
            timeLeft: isLimited ? timeLeft : nil)
        if let trust = context.trust, request.url.isHTTPS, let host = request.url.host {
            transportRequest.asksForTrust = trust.covers(String(host))
        }
        let task = context.transport.task(for: transportRequest, id: id, delegate: session.delegate)
        channel?.connect { task.allow(upTo: $0) }
        let sink = channel.map(BodySink.channel) ?? .memory(Data())
        let (verdict, events, followers, step) = box.withLock { state in
            let verdict = state.beginHop(HopProgress(task, request, sink, waiter, isGated: isGated))
            let step = verdict == .proceed ? state.nextPaceStep(after: nil) : nil
            if verdict == .proceed { state.note(.beginHop(request)) }
            return (verdict, state.pendingEvents.begin(), state.settings.content.followers.requests, step)
        }
        post(events)
        guard verdict == .proceed else {
            context.remove(id)
            task.cancel()
            return verdict
        }
        if !followers.isEmpty { tell(request, to: followers, of: .requests) }
        applyPace(step)
        if isLimited { cutHopIfLate() }
        return verdict
    }

    /// Ends the hop, whose response is no longer needed.
    func endHop() { read { $0.hop?.task }?.cancel() }

    /// What becomes of a body that is still to come.
    enum RestOfBody { case collected, thrownAway, unwanted }

    /// The end of the hop whose head was taken: what came of it, or what comes of it when its body has gone this way.
    func hopEnd(_ rest: RestOfBody) async -> HopOutcome {
        await suspended { continuation in
            let (task, isLong, ended) = box.withLock { state -> ((any TransportTask)?, Bool, CompletedExchange?) in
                let left = BodySink.discardLimit - Int(clamping: state.hop?.received ?? 0)
                state.hop?.waiter = .pipeline(continuation)
                if rest == .thrownAway { state.hop?.sink = .discard(budget: left) }
                return (state.hop?.task, left < 0, state.ended)
            }
            guard let task else {
                return continuation.resume(returning: ended.map(HopOutcome.ended) ?? .notBegun(.abandon))
            }
            switch rest {
            case .collected: task.allow(upTo: .max)
            case .thrownAway where !isLong: task.allow(upTo: .max)
            case .thrownAway, .unwanted: task.cancel()
            }
        }
    }

    /// Goes on with a hop that was left to an awaiter, unless another thread does.
    func takeUpHop() {
        guard let (exchange, session, _) = box.withLock({ $0.takeUpHop() }) else { return }
        RequestPipeline(core: self, session: session).goOn(after: exchange)
    }

    /// Goes on with a hop that was left to an awaiter, on another thread. Unstructured: nothing waits for it.
    func takeUpHopApart() { Task.detached { self.takeUpHop() } }

    // MARK: The transport's side

    /// A fact of the transport, on the transport's thread.
    package func receive(_ event: TransportEvent, for id: TransportTaskID) {
        let (action, events, news) = box.withLock { state in
            (state.receive(event, for: id), state.pendingEvents.begin(), state.news(of: event, for: id))
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
        case .goOn(let exchange, let session, _):
            guard let session else { return assertionFailure("a request was given up before its hop had ended") }
            RequestPipeline(core: self, session: session).goOn(after: exchange)
        case .leave(let awaiter): awaiter.resume(returning: .takeUpHop)
        }
    }

    /// A question of the transport, on the transport's thread.
    package func answer(_ question: TransportQuestion, for id: TransportTaskID, trust: TrustPolicy?) {
        switch question {
        case .serverTrust(let peer, let reply):
            switch trust?.verdict(on: peer) ?? .decided(.platformDefault) {
            case .decided(let decision): reply(decision)
            case .asks(let inquiry):
                _ = box.withLock { state in
                    defer { state.inquiry = inquiry }
                    return state.inquiry  // ends after unlocking (R1)
                }
                reply(.refused(reason: "the peer has yet to be judged"))
            }
        case .clientIdentity:
            break  // no identity is configured: the handshake goes on without one
        case .bodyFromStart(_, let reply):
            guard case .stream(let source)? = read({ $0.hop?.request.body }), source.isReplayable else { return }
            emit(.rewindBody)
            reply(source.open())
        }
    }}
