/// The internals of a request: its state behind a lock, and the actions on that state. Functions of the state return
/// the actions, and the core performs them after unlocking.
///
/// Request objects such as `DataRequest` call the core from any thread. The pipeline calls the core from the thread
/// that runs the pipeline's steps. The session's delegate calls the core from the transport's threads.
package final class RequestCore: Sendable {
    // Immutable
    let id: RequestID
    package let context: SessionContext
    let source: RequestSource
    /// The object that receives the response body in chunks; nil if the body is kept in memory.
    let receiver: (any BodyReceiver)?
    let startsAutomatically: Bool
    /// The credential refreshes and trust evaluations whose code made this request. They may wait for the request, so
    /// the request must not wait for them.
    let sharedWork = SharedWork.current
    let hopFields: [any HopFields]

    // Mutable state, guarded by the lock of `Protected`
    let box: Protected<RequestState>

    init(
        id: RequestID, source: consuming RequestSource, session: Session, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, receiver: (any BodyReceiver)? = nil, listeners: [MonitorQueue] = []
    ) {
        self.id = id
        self.source = source
        self.receiver = receiver
        context = session.context
        hopFields = context.hopFields(for: id)
        self.startsAutomatically = startsAutomatically ?? context.configuration.startsRequestsAutomatically
        var settings = context.settings
        if let interceptor { settings.interceptors = [interceptor] }
        if !listeners.isEmpty { settings.monitors += listeners }
        box = Protected(RequestState(settings: settings, session: session))
    }

    func read<Value: Sendable>(_ body: (inout RequestState) -> Value) -> Value {
        box.withLock { body(&$0) }
    }

    // MARK: Start, cancel, suspend

    /// The request object while the core keeps it alive, otherwise nil. The core keeps it from the start of the request
    /// until the finish. Before the start, the core keeps it if a serializer waits for `resume()` or the request is
    /// cancelled.
    var owner: (any Request)? { read { $0.keptOwner } }

    /// Sets the request object that owns this core. The initializer of the request object calls this.
    package func adopt(_ owner: any Request) { read { $0.owner = owner } }

    func start() {
        if let opening = read({ $0.start() == .run ? $0.open() : nil }) { run(opening) }
    }

    /// Registers the request with the session and starts the pipeline.
    func run(_ opening: RequestState.Opening) {
        guard let session = opening.session ?? context.session else { return cancel(.sessionEnded) }
        if opening.session == nil { read { $0.keep(session) } }
        if let owner = opening.newOwner, !register(owner) { return cancel(context.endReason) }
        tellChange(to: opening.followers)
        watchTotal(opening.limits)
        RequestPipeline(core: self, session: session).start()
    }

    /// Stores the request's task, so that a cancel can cancel the task. If the request was cancelled before, cancels
    /// the task now.
    ///
    /// - Parameter isFirst: Whether the task is the first one of the request. It may already have ended.
    func keep(_ task: Task<Void, Never>, isFirst: Bool = true) {
        let isOver = box.withLock { state -> Bool in
            switch state.phase {
            case .unwinding: return true
            case .finished: return state.cancellation != nil
            case .idle, .preparing, .transferring, .receiving, .settling, .backingOff, .cancellingHop:
                state.pipeline.keep(task, isFirst: isFirst)
                return false
            }
        }
        if isOver { task.cancel() }
    }

    /// Forgets the request's task, which ends before the request does.
    func dropTask() {
        _ = read { $0.pipeline.drop() }
    }

    /// Registers the request with the session, which keeps it until the finish. Returns false if the session has ended.
    func register(_ owner: any Request) -> Bool {
        guard let place = context.register(owner, id) else { return false }
        // The finish first changes the phase, and then removes the request from the session. If the finish came before
        // the registration, `keep(in:)` returns false, and the request is removed here.
        if !read({ $0.keep(in: place) }) { context.forget(id, in: place) }
        return true
    }

    /// Cancels the request with this reason, from any thread.
    package func cancel(_ reason: RequestError = .requestCancelled) {
        let action = box.withLock { $0.cancel(reason) }
        // The receiver is stopped even after the finish, because a stream's readers may still have buffered bytes.
        if reason.isCancelled || action.isEffective && !reason.isTimeout { receiver?.stopDelivering() }
        act(on: action)
    }

    func act(on action: RequestState.CancelAction) {
        postNoted()
        switch action {
        case .none: break
        case .cancelHop(let task): task?.cancel()
        case .takeUpHop: takeUpHopInTask()
        case .takeOver(let held, let task, let discarded):
            task?.cancel()
            unwind(held, discarded)
        }
    }

    func setPace(_ pace: RequestState.Pace) {
        let followers = box.withLock { $0.setPace(pace) ? $0.settings.content.followers.changes : nil }
        guard let followers else { return }
        postNoted()
        tellChange(to: followers)
        applyPace(box.withLock { $0.nextPaceStep(after: nil) })
    }

    func applyPace(_ first: RequestState.PaceStep?) {
        var step = first
        while let (task, pace) = step {
            pace == .flowing ? task.resume() : task.suspend()
            step = box.withLock { $0.nextPaceStep(after: (task.id, pace)) }
        }
    }

    /// Changes a setting. After the finish the change has no effect, and monitors get the event `.ignoreOption`.
    func set(_ name: String, _ change: (inout RequestSettings) -> Void) {
        // The old settings are returned from the locked section, so that they are released after unlocking.
        let before = read { state -> RequestSettings? in
            guard state.phase != .finished else { return nil }
            defer { change(&state.settings) }
            return state.settings
        }
        if before == nil { emit(.ignoreOption(name), isLate: true) }
    }

    /// Sets the means to answer challenges, for the attempts that begin from now on.
    package func setResponder(_ responder: any ChallengeResponder) { set("credential") { $0.responder = responder } }

    // MARK: The pipeline's side

    /// The reason why the pipeline has to leave its steps.
    enum Exit: Error {
        /// Another task finishes the request. The pipeline only has to stop.
        case abandon
        /// The request was cancelled. The pipeline stops, and its driver finishes the request as cancelled.
        case unwind
    }

    /// Changes the phase. Throws if the pipeline must stop.
    func step(_ event: RequestPhase.Event) throws(Exit) {
        try obey(box.withLock { $0.step(event) })
    }

    func obey(_ verdict: RequestPhase.Verdict) throws(Exit) {
        switch verdict {
        case .proceed, .ignore: return
        case .unwind: throw .unwind
        case .abandon, .run, .takeOver, .cancelHop: throw .abandon
        case .illegal:
            assertionFailure("the phase table forbids this step of the pipeline")
            throw .abandon
        }
    }

    /// Whether the pipeline may continue. After a cancel it may not, because another task finishes the request.
    var isWithPipeline: Bool { read { $0.isWithPipeline } }

    /// Changes the state. Throws if the pipeline must not continue.
    private func record<Value: Sendable>(_ change: (inout RequestState) -> Value) throws(Exit) -> Value {
        let value = update { $0.isWithPipeline ? change(&$0) : nil }
        guard let value else { throw .abandon }
        return value
    }

    /// Returns the current plan. Steps call this after user code has run, because user code may have changed settings.
    func currentPlan() throws(Exit) -> AttemptPlan { try record { $0.plan } }

    /// Records the stage of the user code that runs next. If a timeout ends the request, its error contains this stage.
    ///
    /// User code that runs longer than its attempt's timeout is in a cancelled task. A call from such a task does not
    /// change the stage.
    @discardableResult
    func enter(_ stage: RequestError.Stage) throws(Exit) -> AttemptPlan {
        let isTimedOut = Task.isCancelled
        return try record { state in
            if !isTimedOut { state.stage = stage }
            return state.plan
        }
    }

    /// Begins an attempt, and stops the timeout of the previous attempt.
    func beginAttempt() throws(Exit) -> AttemptPlan {
        let (plan, limit) = try record { state in
            state.beginAttempt()
            return (state.plan, state.deadlines.takeAttempt())
        }
        limit?.stop()
        return plan
    }

    /// Records the request that the attempt has built. A creation handler that is attached later also gets this
    /// request.
    func didCreate(_ request: OutgoingRequest) throws(Exit) -> AttemptPlan {
        try record { state in
            state.attempt?.request = request
            state.note(.create(request))
            return state.plan
        }
    }

    /// Changes the phase to `.settling` after a hop has ended, or after the attempt has failed without a hop.
    ///
    /// - Returns: The plan, and the inquiry that must end before the hop can be sent again; nil if there is none.
    func settle() throws(Exit) -> (plan: AttemptPlan, inquiry: (any HopInquiry)?) {
        let (verdict, plan, inquiry) = box.withLock { state in
            var plan = state.plan
            plan.prompt = state.queue.solePrompt
            return (state.step(.settle), plan, state.inquiry.take())
        }
        try obey(verdict)
        return (plan, inquiry)
    }

    /// Records the attempt's error and the delay before the next attempt.
    func endAttempt(_ error: RequestError, retryingAfter delay: Duration? = nil) throws(Exit) {
        try record { state in
            state.attempt?.error = error
            state.attempt?.delay = delay
        }
    }

    /// Prepares for another attempt: changes the phase, and discards the responses that serializers have made.
    func prepareAgain() throws(Exit) {
        let (verdict, _) = box.withLock { state in
            let verdict = state.step(.prepare)
            return (verdict, verdict == .proceed ? state.queue.discardHeld() : [])
        }
        try obey(verdict)
    }

    /// Whether the request has not started, and waits for nothing.
    package var isIdle: Bool { read { $0.phase == .idle } }

    /// The session, as far as the request keeps it alive.
    package var heldSession: Session? { read { $0.session } }

    /// Whether the request bodies of all hops of the attempt can be sent again.
    package var canSendAgain: Bool {
        read { $0.attempt?.hops.allSatisfy(\.request.body.isReplayable) ?? true }
    }

    /// Returns the next serializer to run. If no serializer is left, finishes the request.
    ///
    /// - Parameters:
    ///   - held: The response of the serializer that has just run; nil if none has.
    ///   - isInTask: Whether user code may run here. The finish may call a user's clock to stop timers, and may release
    ///     user objects.
    func nextWork(
        after held: HeldResponse? = nil, finishingBy event: RequestPhase.Event = .finish,
        with exchange: CompletedExchange, isInTask: Bool = true
    ) -> RequestState.NextWork {
        let (work, finish) = update {
            $0.nextWork(after: held, finishingBy: event, with: exchange, isInTask: isInTask)
        }
        if let finish { conclude(finish, exchange) }
        return work
    }

    /// Performs the actions of the finish. Removes the request from the session, and resumes all awaiters.
    private func conclude(_ finish: RequestState.Finish, _ exchange: CompletedExchange) {
        if let place = finish.place { context.forget(id, in: place) }
        receiver?.end(exchange.error)
        finish.deadlines.stop()
        if finish.deliversEvents { deliverEvents() }
        finish.settings.followers.end()
        finish.deliveries.forEach { $0() }
    }

    /// Finishes a cancelled request. Its serializers are not called, and each response has the cancellation error.
    ///
    /// The finish runs in an unstructured task for two reasons. User code may block the pipeline. And the cancel may
    /// come from a transport's thread, which must not run cancellation handlers or deinitializers of user objects (rule
    /// R2 in Concurrency.md).
    ///
    /// The receiver releases its resources before the awaiters are resumed.
    func unwind(_ held: Task<Void, Never>? = nil, _ discarded: [AnyResponse] = []) {
        Task {
            held?.cancel()
            withExtendedLifetime(discarded) {}
            var exchange = read { $0.cancelledExchange }
            if let error = exchange.error {
                exchange = exchange.failed(with: namingUnsent(error.adding(to: exchange, requestID: id), exchange))
            }
            if let receiver { exchange = await receiver.result(exchange) }
            let error = exchange.error ?? .requestCancelled
            while true {
                switch nextWork(finishingBy: .finishUnwinding, with: exchange) {
                case .serialize(let slot, let job, _):
                    let response = job.fail(exchange, error)
                    hold(response, in: slot, during: .unwinding)
                    emit(.serialize(SerializationEvent(exchange, response)))
                case .finished(let callsHandlers): return callsHandlers ? await callHandlers() : ()
                case .abandon, .needsTask: return
                }
            }
        }
    }
}

extension RequestCore: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
