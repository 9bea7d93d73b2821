/// The inner side of a request: its one box, and the actions its state asks for, done after unlocking.
///
/// Faces such as `DataRequest` call it from any thread, the pipeline from its task, the delegate from the transport's threads.
package final class RequestCore: Sendable {
    // Immutable
    let id: RequestID
    let context: SessionContext
    let source: RequestSource
    /// Takes the body as it comes; nil if it is kept in memory.
    let receiver: (any BodyReceiver)?
    let startsAutomatically: Bool
    /// The refreshes and trust evaluations that the request was made for, so that it does not wait for them.
    let sharedWork = SharedWork.current

    // Guarded by the box
    let box: Protected<RequestState>

    init(
        id: RequestID, source: consuming RequestSource, session: Session, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, receiver: (any BodyReceiver)? = nil, listeners: [MonitorQueue] = []
    ) {
        self.id = id
        self.source = source
        self.receiver = receiver
        context = session.context
        self.startsAutomatically = startsAutomatically ?? context.configuration.startsRequestsAutomatically
        var settings = context.settings
        if let interceptor { settings.interceptors = [interceptor] }
        if !listeners.isEmpty { settings.monitors += listeners }
        box = Protected(RequestState(settings: settings, session: session))
    }

    func read<Value: Sendable>(_ body: (inout RequestState) -> Value) -> Value {
        box.withLock { body(&$0) }
    }

    // MARK: Starting and steering

    /// The request object while the request is under way.
    var face: (any Request)? { read { $0.heldFace } }

    /// Called by the initializer of the request object.
    func adopt(_ face: any Request) { read { $0.face = face } }

    func start() {
        if let opening = read({ $0.start() == .run ? $0.open() : nil }) { run(opening) }
    }

    /// Gives the request to its pipeline.
    func run(_ opening: RequestState.Opening) {
        guard let session = opening.session ?? context.session else { return cancel(.sessionEnded) }
        if opening.session == nil { read { $0.keep(session) } }
        if let face = opening.newFace, !register(face) { return cancel(context.endReason) }
        watchTotal(opening.limits)
        RequestPipeline(core: self, session: session).start()
    }

    func keep(_ task: Task<Void, Never>) {
        let isOver = box.withLock { state -> Bool in
            switch state.phase {
            case .unwinding: return true
            case .finished: return state.cancellation != nil
            case .idle, .preparing, .transferring, .receiving, .settling, .backingOff, .cancellingHop:
                state.pipeline = task
                return false
            }
        }
        if isOver { task.cancel() }
    }

    /// Has the session keep the request until the finish; false if the session is over.
    func register(_ face: any Request) -> Bool {
        guard let place = context.register(face, id) else { return false }
        // The finish sets the phase before it has the session forget, so one of the two sees the other.
        if !read({ $0.keep(in: place) }) { context.forget(id, in: place) }
        return true
    }

    func cancel(_ reason: RequestError = .requestCancelled) {
        let action = box.withLock { $0.cancel(reason) }
        // After the finish too: a stream's readers may still have bytes to read.
        if reason.isCancelled || action.isEffective && !reason.isTimeout { receiver?.stopDelivering() }
        act(on: action)
    }

    func act(on action: RequestState.CancelAction) {
        postNoted()
        switch action {
        case .none: break
        case .cancelHop(let task): task?.cancel()
        case .takeUpHop: takeUpHopApart()
        case .takeOver(let held, let task, let discarded):
            task?.cancel()
            unwind(held, discarded)
        }
    }

    func setPace(_ pace: RequestState.Pace) {
        guard box.withLock({ $0.setPace(pace) }) else { return }
        postNoted()
        applyPace(box.withLock { $0.nextPaceStep(after: nil) })
    }

    func applyPace(_ first: RequestState.PaceStep?) {
        var step = first
        while let (task, pace) = step {
            pace == .flowing ? task.resume() : task.suspend()
            step = box.withLock { $0.nextPaceStep(after: (task.id, pace)) }
        }
    }

    /// Changes a setting if the request can still take notice of it.
    func set(_ name: String, _ change: (inout RequestSettings) -> Void) {
        // What is replaced is released after unlocking.
        let before = read { state -> RequestSettings? in
            guard state.phase != .finished else { return nil }
            defer { change(&state.settings) }
            return state.settings
        }
        if before == nil { emit(.ignoreOption(name), isLate: true) }
    }

    // MARK: The pipeline's side

    /// What the pipeline must do instead of going on.
    enum Exit: Error {
        /// Stop: another task finishes the request.
        case abandon
        /// Finish as cancelled.
        case unwind
    }

    func step(_ event: RequestPhase.Event) throws(Exit) {
        try obey(box.withLock { $0.step(event) })
    }

    func obey(_ verdict: RequestPhase.Verdict) throws(Exit) {
        switch verdict {
        case .proceed, .ignore: return
        case .unwind: throw .unwind
        case .abandon, .run, .takeOver, .cancelHop: throw .abandon
        case .illegal:
            assertionFailure("the pipeline took a step that the phase table does not have")
            throw .abandon
        }
    }

    /// Whether the pipeline still has the request. After a takeover another task has it, and may have finished it.
    var isWithPipeline: Bool { read { $0.isWithPipeline } }

    /// Changes the state, unless the request was taken from the pipeline.
    private func record<Value: Sendable>(_ change: (inout RequestState) -> Value) throws(Exit) -> Value {
        let value = update { $0.isWithPipeline ? change(&$0) : nil }
        guard let value else { throw .abandon }
        return value
    }

    /// The plan after code of the user's has run.
    func look() throws(Exit) -> AttemptPlan { try record { $0.plan } }

    /// Notes the stage of the user's code that is about to run, for the error of a limit that ends the request. Code that an
    /// attempt's limit has left behind changes nothing: its task is cancelled.
    @discardableResult
    func enter(_ stage: RequestError.Stage) throws(Exit) -> AttemptPlan {
        let isLeftBehind = Task.isCancelled
        return try record { state in
            if !isLeftBehind { state.stage = stage }
            return state.plan
        }
    }

    func beginAttempt() throws(Exit) -> AttemptPlan {
        let (plan, limit) = try record { state in
            state.beginAttempt()
            return (state.plan, state.deadlines.attempt.take())
        }
        limit?.stop()
        return plan
    }

    /// Records the attempt's request. A handler that is added later is given the request then.
    func didCreate(_ request: OutgoingRequest) throws(Exit) -> AttemptPlan {
        try record { state in
            state.attempt?.request = request
            state.note(.create(request))
            return state.plan
        }
    }

    /// A hop has ended, or the attempt has failed before there was one. Returns the question about a peer that the hop has
    /// left.
    func settle() throws(Exit) -> (plan: AttemptPlan, inquiry: TrustInquiry?) {
        let (verdict, plan, inquiry) = box.withLock { state in
            var plan = state.plan
            plan.prompt = state.queue.solePrompt
            return (state.step(.settle), plan, state.inquiry.take())
        }
        try obey(verdict)
        return (plan, inquiry)
    }

    /// Records why the attempt failed, and for how long the next one is put off.
    func endAttempt(_ error: RequestError, retryingAfter delay: Duration? = nil) throws(Exit) {
        try record { state in
            state.attempt?.error = error
            state.attempt?.delay = delay
        }
    }

    /// Begins a further attempt: what the last one gave was never there.
    func prepareAgain() throws(Exit) {
        let (verdict, _) = box.withLock { state in
            let verdict = state.step(.prepare)
            return (verdict, verdict == .proceed ? state.queue.discardHeld() : [])
        }
        try obey(verdict)
    }

    /// Whether the last request, if one was sent, could be sent a second time.
    var canSendAgain: Bool {
        read { $0.attempt?.hops.allSatisfy(\.request.body.isReplayable) ?? true }
    }

    /// The next serializer to run; when there is none left, the finish: everybody is answered, the session forgets.
    ///
    /// - Parameter isInTask: Whether code of the user's may run here: timers are stopped, and objects of the user's released.
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

    /// What the finish asks for: the session forgets, everybody is answered.
    private func conclude(_ finish: RequestState.Finish, _ exchange: CompletedExchange) {
        if let place = finish.place { context.forget(id, in: place) }
        receiver?.end(exchange.error)
        finish.deadlines.stop()
        post(finish.events)
        finish.settings.followers.end()
        finish.deliveries.forEach { $0() }
    }

    /// Finishes a cancelled request: every serializer is answered with the cancel, without being asked.
    ///
    /// Unstructured, one for each cancelled request: the pipeline may be held up in somebody's code, and who cancels may
    /// be a transport's thread, where neither cancellation handlers nor the ends of values may run (R2). A receiver lets go
    /// of what it has before anybody is answered.
    func unwind(_ held: Task<Void, Never>? = nil, _ discarded: [AnyResponse] = []) {
        Task {
            held?.cancel()
            withExtendedLifetime(discarded) {}
            var exchange = read { $0.cancelledExchange }
            if let error = exchange.error {
                exchange = exchange.failed(with: error.adding(to: exchange, requestID: id))
            }
            if let receiver { exchange = await receiver.result(exchange) }
            let error = exchange.error ?? .requestCancelled
            while true {
                switch nextWork(finishingBy: .finishUnwinding, with: exchange) {
                case .serialize(let slot, let job, _):
                    hold(job.fail(exchange, error), in: slot, during: .unwinding)
                    emit(.serialize(nil))
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
