/// The mutable state of a request, guarded by its lock.
///
/// Functions change the state and return an action. The caller performs the action after unlocking, because user code
/// never runs under a lock (rule R1 in Concurrency.md). The functions do no other work, so a test can try every order
/// of events without threads. The type is large, and so noncopyable, to prevent accidental copies.
struct RequestState: ~Copyable {
    /// Whether the session has registered the request. The session can list and cancel only registered requests.
    private enum Registration {
        case notBegun
        case begun
        case inPlace(UInt64)
    }

    /// Whether the transport may transfer bytes, as set by `suspend()` and `resume()`. Applies to later hops, too.
    enum Pace { case flowing, suspended }

    // Lifecycle
    private(set) var phase = RequestPhase.idle
    private(set) var pace = Pace.flowing
    private(set) var cancellation: RequestError?
    /// Whether the hop in flight had not been admitted when the request was cancelled.
    private(set) var wasWaiting = false
    var deadlines = Deadlines()
    /// The current stage. If a timeout ends the request, the error contains this stage.
    var stage = RequestError.Stage.building
    /// The idempotency key that all attempts send; nil until a retry policy asks for it.
    var idempotencyKey: String?
    /// Whether the request has already added its share to the session's retry budget.
    var hasDeposited = false

    /// The request object, which owns the core. Unowned; valid while a function of the request object runs.
    unowned var owner: (any Request)?

    // Released at the finish
    /// The request object, kept alive from the start on. If a serializer waits for `resume()`, or if the request is
    /// cancelled, the request object is kept alive even before the start.
    private(set) var keptOwner: (any Request)?
    /// The session, kept alive until the finish. Nil while the request waits for `resume()`, because such a request has
    /// to fail when its session ends.
    private(set) var session: Session?
    private var registration = Registration.notBegun
    var pipeline = PipelineTask()

    // Settings and serializers
    var settings: RequestSettings
    var pendingEvents = PendingEvents()
    var queue = SerializerQueue()
    private var waiters: UInt64 = 0

    // Progress and results
    /// The current attempt. The array has only earlier attempts, because most requests have only one attempt.
    var attempt: Attempt?
    private var earlierAttempts = EarlierAttempts()
    private(set) var hop: HopProgress?
    /// The inquiry because of which the last hop was refused, and after which it is sent again.
    var inquiry: (any HopInquiry)?
    /// The response that middleware returned in this attempt; nil without middleware.
    var answer: Hop?
    /// The result of a hop whose body is received in chunks; nil until the body has ended.
    private(set) var ended: CompletedExchange?
    /// The upload progress, over all attempts and hops.
    private(set) var uploaded: TransferProgress?
    /// The number of received body bytes, over all attempts.
    private(set) var received: UInt64 = 0
    private(set) var exchange: CompletedExchange?

    init(settings: consuming RequestSettings, session: Session?) {
        self.settings = settings
        self.session = session
    }

    /// Keeps the session alive until the finish.
    mutating func keep(_ session: Session) { if phase != .finished { self.session = session } }

    /// Returns true for the first call only. That caller registers the request with the session.
    mutating func beginRegistration() -> Bool {
        guard case .notBegun = registration else { return false }
        registration = .begun
        return true
    }

    /// Stores the place where the session keeps the request. Returns false if the request has finished meanwhile.
    mutating func keep(in place: UInt64) -> Bool {
        registration = .inPlace(place)
        return phase != .finished
    }

    private var place: UInt64? { if case .inPlace(let place) = registration { place } else { nil } }

    // MARK: Attempts

    var attempts: [Attempt] { attempt.map { earlierAttempts.kept + [$0] } ?? [] }

    var past: CompletedExchange.Past { CompletedExchange.Past(earlier: earlierAttempts.kept, last: attempt) }

    var attemptCount: Int { attempt == nil ? 0 : earlierAttempts.count + 1 }

    mutating func beginAttempt() {
        if let attempt { earlierAttempts.append(attempt) }
        attempt = Attempt()
        answer = nil
        stage = .building
    }

    // MARK: Phases

    var plan: AttemptPlan { AttemptPlan(self) }

    var isWithPipeline: Bool {
        switch phase {
        case .preparing, .transferring, .receiving, .settling, .backingOff, .cancellingHop: true
        case .idle, .unwinding, .finished: false
        }
    }

    /// Changes the phase by the phase table, and returns the verdict for the caller.
    mutating func step(_ event: RequestPhase.Event) -> RequestPhase.Verdict {
        let (next, verdict) = phase.receiving(event)
        phase = next
        return verdict
    }

    /// Starts the request. From now on the request object is kept alive.
    mutating func start() -> RequestPhase.Verdict {
        let verdict = step(.start)
        guard verdict == .run else { return verdict }
        keptOwner = owner
        note(.start, isFirst: true)
        return verdict
    }

    /// Cancels the request with this reason, unless the request was cancelled or has finished before.
    mutating func cancel(_ reason: RequestError) -> CancelAction {
        let isFirst = phase == .idle
        switch step(.cancel) {
        case .takeOver:
            keptOwner = owner
            noteEnd(reason, isFirst: isFirst)
            return .takeOver(held: pipeline.task, hop?.task, discarded: queue.discardHeld())
        case .cancelHop:
            noteEnd(reason)
            return isLeftToAwaiter ? .takeUpHop : .cancelHop(hop?.task)
        case .proceed, .ignore, .run, .abandon, .unwind, .illegal: return .none
        }
    }

    private mutating func noteEnd(_ reason: RequestError, isFirst: Bool = false) {
        (cancellation, wasWaiting) = (reason, hop?.isWaiting ?? false)
        if !reason.isTimeout { return note(.cancel, isFirst: isFirst) }
        if attempt?.error == nil { attempt?.error = reason }
    }

    enum CancelAction {
        case none
        /// Cancel the pipeline's task and its hop, and finish the request in another task, because user code may block
        /// the pipeline.
        case takeOver(held: Task<Void, Never>?, (any TransportTask)?, discarded: [AnyResponse])
        case cancelHop((any TransportTask)?)
        /// Run the steps after the hop now, because the awaiter that should run them may be delayed.
        case takeUpHop

        /// Whether this cancel had an effect on the request.
        var isEffective: Bool { if case .none = self { false } else { true } }
    }

    /// The exchange that a cancelled request finishes with.
    var cancelledExchange: CompletedExchange {
        CompletedExchange(
            hop: lastHop, attempts: attemptCount, error: cancellation ?? .requestCancelled, past: past)
    }

    // MARK: Serializers

    enum AttachAction {
        case none
        /// The request waits for `resume()`. The session registers the request, and lets it fail if the session ends.
        case keep(released: Session?)
        case run(Opening)
        case workLate
        /// Run the steps after the hop now, because the awaiter that should run them may be delayed.
        case takeUpHop
    }

    mutating func attach(
        _ slot: consuming SerializerSlot, startsAutomatically: Bool
    ) -> (slot: Int, action: AttachAction) {
        let index = queue.append(slot)
        switch phase {
        case .idle: return (index, demand(startsAutomatically: startsAutomatically))
        case .finished: return (index, queue.beginLateWork() ? .workLate : .none)
        case .preparing, .transferring, .receiving, .settling, .backingOff, .cancellingHop, .unwinding:
            return (index, isLeftToAwaiter ? .takeUpHop : .none)
        }
    }

    /// Starts the request, because a serializer or reader needs its response. If the request does not start
    /// automatically, returns `.keep`, and the session registers the request.
    mutating func demand(startsAutomatically: Bool) -> AttachAction {
        guard phase == .idle else { return .none }
        if startsAutomatically, pace == .flowing { return start() == .run ? .run(open()) : .none }
        keptOwner = owner
        guard beginRegistration() else { return .none }
        defer { session = nil }
        return .keep(released: session)
    }

    /// Stores a serializer's response if the request is still in this phase.
    ///
    /// - Returns: Whether the response was stored, and the replaced response, which the caller releases after
    ///   unlocking.
    mutating func hold(
        _ response: AnyResponse, in slot: Int, during phase: RequestPhase
    ) -> (isHeld: Bool, replaced: AnyResponse?) {
        self.phase == phase ? queue[slot].hold(response) : (false, nil)
    }

    mutating func nextWaiterNumber() -> UInt64 {
        waiters += 1
        return waiters
    }

    enum NextWork: Sendable {
        case serialize(slot: Int, SerializerJob, limit: Deadline?)
        /// No serializer is left. The finish needs a task, because it stops timers on a user's clock or frees user
        /// objects.
        case needsTask
        case finished(callsHandlers: Bool)
        case abandon
    }

    /// The actions of the finish, and the objects to release after unlocking. One of the objects is the session,
    /// because releasing the last reference to a session ends the session.
    struct Finish: Sendable {
        let deliveries: Few<Delivery>
        let deliversEvents: Bool
        let session: Session?
        let place: UInt64?
        let owner: (any Request)?
        let settings: RequestSettings
        let deadlines: Deadlines
    }

    /// Returns the next serializer to run, or finishes the request. Both happen in one access to the state. So a
    /// serializer is attached either before the finish, and then runs before it, or after the finish, and then is late.
    ///
    /// - Parameter held: The response of the serializer that has just run; nil if none has.
    mutating func nextWork(
        after held: HeldResponse? = nil, finishingBy event: RequestPhase.Event, with exchange: CompletedExchange,
        isInTask: Bool = true
    ) -> (NextWork, Finish?) {
        let (next, verdict) = phase.receiving(event)
        guard verdict == .proceed else { return (.abandon, nil) }
        if let held, queue[held.slot].hold(held.response).isHeld { note(.serialize(.init(exchange, held.response))) }
        if let next = queue.nextWaiting() {
            stage = .serializing
            return (.serialize(slot: next.slot, next.job, limit: deadlines.attempt), nil)
        }
        guard isInTask || deadlines.isEmpty && !settings.ownsUserCode else { return (.needsTask, nil) }
        phase = next
        self.exchange = exchange
        let deliveries = queue.deliverHeld()
        // The transport may end a cancelled hop later, but monitors must get the hop's end before the finish.
        if hop != nil { note(.endHop(.cancelled)) }
        note(.finish(exchange.error))
        pipeline = PipelineTask()
        let (released, limits) = (settings, deadlines)
        (settings, deadlines) = (released.remains, Deadlines())
        let finish = Finish(
            deliveries: deliveries, deliversEvents: pendingEvents.begin(), session: session.take(), place: place,
            owner: keptOwner.take(), settings: released, deadlines: limits)
        return (.finished(callsHandlers: queue.beginHandlers()), finish)
    }

    // MARK: Pace

    /// Sets the pace. Returns whether the pace has changed.
    mutating func setPace(_ pace: Pace) -> Bool {
        guard self.pace != pace, phase != .finished, phase != .unwinding else { return false }
        self.pace = pace
        note(pace == .flowing ? .resume : .suspend)
        return true
    }

    typealias PaceStep = (task: any TransportTask, pace: Pace)

    /// Returns the next change of pace that the caller has to pass to the transport. If two threads suspend and resume
    /// the request concurrently, only one of them calls the transport, until the transport has the wanted pace.
    mutating func nextPaceStep(after applied: (TransportTaskID, Pace)?) -> PaceStep? {
        guard let hop else { return nil }
        if let (id, pace) = applied {
            guard hop.id == id else { return nil }
            hop.pace = .settled(pace)
        }
        guard case .settled(let current) = hop.pace, current != pace else { return nil }
        hop.pace = .applying
        return (hop.task, pace)
    }

    // MARK: Hops

    /// Begins a hop, unless the request was cancelled.
    mutating func beginHop(_ progress: HopProgress) -> RequestPhase.Verdict {
        let verdict = step(.beginHop)
        if verdict == .proceed { (hop, ended, stage) = (progress, nil, .sending) }
        return verdict
    }

    enum ReceiveAction: Sendable {
        case none
        case fill(ByteChannel, Data)
        /// Cancel the hop, because the rest of the body is not needed.
        case endHop(any TransportTask)
        case reportUpload(TransferProgress, [Follower<TransferProgress>])
        /// Let the transport deliver the whole body, because it is discarded and no reader raises the allowance.
        case allowAll(any TransportTask)
        /// Resume the pipeline. The task is released after unlocking: its deinitializer is code of the transport.
        case complete(HopProgress.OutcomeContinuation, HopOutcome, any TransportTask)
        /// End the channel of the body. The head of the response was delivered before.
        case endBody(ByteChannel?, TransportError?, any TransportTask)
        /// Run the next steps on this thread, because no task waits for the hop.
        case resume(HopOutcome, Session?, any TransportTask)
        /// Resume the awaiter of the response, so that the awaiter runs the next steps.
        case leave(to: Continuation<SerializerSlot.Answer>)
    }

    /// Handles an event of the transport. Ignores an event of a hop that is no longer in flight.
    mutating func receive(_ event: TransportEvent, for id: TransportTaskID) -> ReceiveAction {
        guard let hop, hop.id == id else { return .none }
        note(event, of: hop)
        switch event {
        case .admission, .waitsForNetwork, .information, .cache, .trailers, .metrics: hop.record(event)
        case .head(let head):
            hop.head = head
            hop.awaitsHandler =
                hop.isForHandler && settings.content.redirectHandler != nil
                && HopPolicy.isRedirect(head, options: hop.request.options)
            guard hop.awaitsHandler || !HopPolicy.isAnswered(head, to: hop.request) else {
                hop.sink = .discard(budget: BodySink.discardLimit)
                return .allowAll(hop.task)
            }
            guard hop.awaitsHandler || hop.acceptsDeclaredLength() else { return .endHop(hop.task) }
            hop.prepareDecoding()
            return deliverHead(hop)
        case .body(let bytes):
            let length = hop.sink.isGrowing ? hop.head?.contentLength : nil
            guard hop.accepts(UInt64(bytes.count), of: length) else { return .endHop(hop.task) }
            if hop.isCounted { received = max(received, hop.offset + hop.received) }
            if hop.sink.append(bytes, expecting: length) == .endHop { return .endHop(hop.task) }
            if let channel = hop.channel { return .fill(channel, bytes) }
        case .bodySent(let count): return advanceUpload(to: count, of: hop.request.body.length)
        case .completed(let error):
            if let awaiter = leaveToAwaiter(hop, error) { return .leave(to: awaiter) }
            let exchange = end(hop, error)
            switch hop.waiter {
            case .pipeline(let continuation): return .complete(continuation, .ended(exchange), hop.task)
            case .deliveringThread, .awaiter: return .resume(.ended(exchange), session, hop.task)
            case .reader(let channel):
                ended = exchange
                return .endBody(channel, exchange.hop?.error, hop.task)
            }
        }
        return .none
    }

    /// Ends the hop and records its result.
    mutating func end(_ hop: HopProgress, _ error: TransportError?) -> CompletedExchange {
        self.hop = nil
        let ended = hop.ended(with: error)
        attempt?.append(ended)
        return CompletedExchange(hop: ended, data: hop.takeBody(), attempts: attemptCount, past: past)
    }

    /// Lets the pipeline continue with the head if it gets the body by a channel, or if user code has to see the head
    /// first. While the pipeline only decodes, the phase stays `.transferring`, so a cancel just ends the hop.
    private mutating func deliverHead(_ hop: HopProgress) -> ReceiveAction {
        let (channel, waiter) = (hop.channel, hop.waiter)
        let goesOn = hop.showsHead ? step(.receive) == .proceed : channel != nil && phase == .transferring
        guard goesOn else { return .none }
        hop.waiter = .reader(channel)
        let head = Hop(request: hop.request, head: hop.head, metrics: hop.metrics, cache: hop.cache)
        let exchange = CompletedExchange(hop: head, attempts: attemptCount, past: past)
        let outcome: HopOutcome = hop.awaitsHandler ? .redirect(exchange, channel) : .live(exchange, channel)
        switch waiter {
        case .pipeline(let continuation): return .complete(continuation, outcome, hop.task)
        case .deliveringThread, .awaiter, .reader: return .resume(outcome, session, hop.task)
        }
    }

    // MARK: Progress

    /// Counts sent bytes. Returns `.none` if the progress did not change, or if the progress has no followers.
    private mutating func advanceUpload(to count: UInt64, of total: UInt64?) -> ReceiveAction {
        let completed = min(max(count, uploaded?.completed ?? 0), total ?? .max)
        let progress = TransferProgress(completed: completed, total: total)
        guard progress != uploaded else { return .none }
        uploaded = progress
        let followers = settings.content.followers.upload
        return followers.isEmpty ? .none : .reportUpload(progress, followers)
    }
}
