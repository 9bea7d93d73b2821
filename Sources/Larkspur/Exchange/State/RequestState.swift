/// Everything that changes about a request: the content of its box, and a pure machine.
///
/// Functions change the state and return what is to be done; nothing is done here. Whoever calls them does it after
/// unlocking (R1), so a test can drive every interleaving without a thread. There is one of each: it is large, and a copy
/// made by mistake would cost more than what it was made for.
struct RequestState: ~Copyable {
    /// Whether the session keeps the request, to list it and to end it.
    private enum Keeping {
        case notBegun
        case begun
        case inPlace(UInt64)
    }

    /// Whether the user lets bytes flow. Independent of the phase: it holds for hops to come as well.
    enum Pace { case flowing, suspended }

    // Lifecycle
    private(set) var phase = RequestPhase.idle
    private(set) var pace = Pace.flowing
    private(set) var cancellation: RequestError?
    var deadlines = Deadlines()
    /// What the pipeline is doing, for the error of a limit that ends the request from outside.
    var stage = RequestError.Stage.building
    /// What tells the server that attempts are of one request, if somebody has asked for it.
    var idempotencyKey: String?
    /// Whether the session's budget of retries has had its part for this request.
    var hasDeposited = false

    /// The request object, for functions that it calls. It owns the core, so the core does not own it.
    unowned var face: (any Request)?

    // Held while the request may still need them, given up at the finish
    /// The request object, from the start on.
    private(set) var heldFace: (any Request)?
    /// Held from the making to the finish, but for requests that wait, unstarted, for an answer: those the session ends.
    private(set) var session: Session?
    private var keeping = Keeping.notBegun
    var pipeline: Task<Void, Never>?

    // What the user asked for
    var settings: RequestSettings
    var pendingEvents = PendingEvents()
    var queue = SerializerQueue()
    private var waiters: UInt64 = 0

    // What happened
    /// Kept apart from those before it, because most requests have only this one.
    var attempt: Attempt?
    private var earlierAttempts: [Attempt] = []
    private(set) var hop: HopProgress?
    /// What the last hop's peer has to be asked by a user's code, because of which the hop was refused.
    var inquiry: TrustInquiry?
    /// The attempt's response as middleware has made it, if it went through any.
    var answer: Hop?
    /// What came of the hop whose body somebody takes as it comes; there when that body has ended.
    private(set) var ended: CompletedExchange?
    /// How much of the body was sent, over all attempts and hops.
    private(set) var uploaded: TransferProgress?
    /// How much of the response's body has come, over all attempts.
    private(set) var received: UInt64 = 0
    private(set) var exchange: CompletedExchange?

    init(settings: consuming RequestSettings, session: Session?) {
        self.settings = settings
        self.session = session
    }

    /// Held until the finish, also where the request waited for its start without it.
    mutating func keep(_ session: Session) { if phase != .finished { self.session = session } }

    /// True for the one who has the session keep the request.
    mutating func beginKeeping() -> Bool {
        guard case .notBegun = keeping else { return false }
        keeping = .begun
        return true
    }

    /// False if the session does not have to keep the request there any more: it has finished meanwhile.
    mutating func keep(in place: UInt64) -> Bool {
        keeping = .inPlace(place)
        return phase != .finished
    }

    private var place: UInt64? {
        if case .inPlace(let place) = keeping { place } else { nil }
    }

    // MARK: Attempts

    var attempts: [Attempt] { attempt.map { earlierAttempts + [$0] } ?? [] }

    var past: CompletedExchange.Past { CompletedExchange.Past(earlier: earlierAttempts, last: attempt) }

    var attemptCount: Int { attempt == nil ? 0 : earlierAttempts.count + 1 }

    mutating func beginAttempt() {
        if let attempt { earlierAttempts.append(attempt) }
        attempt = Attempt()
        answer = nil
        stage = .building
    }

    // MARK: Phases

    /// What the pipeline goes by from here on.
    var plan: AttemptPlan { AttemptPlan(self) }

    var isWithPipeline: Bool {
        switch phase {
        case .preparing, .transferring, .receiving, .settling, .backingOff, .cancellingHop: true
        case .idle, .unwinding, .finished: false
        }
    }

    /// Brings an event to the table.
    mutating func step(_ event: RequestPhase.Event) -> RequestPhase.Verdict {
        let (next, verdict) = phase.receiving(event)
        phase = next
        return verdict
    }

    /// The first serializer or `resume()`; the face is kept from now on, so that everybody sees the same object.
    mutating func start() -> RequestPhase.Verdict {
        let verdict = step(.start)
        guard verdict == .run else { return verdict }
        heldFace = face
        note(.start)
        return verdict
    }

    /// Cancels with this reason; the first one counts.
    mutating func cancel(_ reason: RequestError) -> CancelAction {
        switch step(.cancel) {
        case .takeOver:
            heldFace = face
            noteEnd(reason)
            return .takeOver(held: pipeline, hop?.task, discarded: queue.discardHeld())
        case .cancelHop:
            noteEnd(reason)
            return isLeftToAwaiter ? .takeUpHop : .cancelHop(hop?.task)
        case .proceed, .ignore, .run, .abandon, .unwind, .illegal: return .none
        }
    }

    private mutating func noteEnd(_ reason: RequestError) {
        cancellation = reason
        if !reason.isTimeout { note(.cancel) } else if attempt?.error == nil { attempt?.error = reason }
    }

    enum CancelAction {
        case none
        /// Cancel the pipeline's task, which somebody's code may hold up, and the hop that it takes the body of, if there
        /// is one, and finish on another task.
        case takeOver(held: Task<Void, Never>?, (any TransportTask)?, discarded: [AnyResponse])
        case cancelHop((any TransportTask)?)
        /// Go on with the hop that is left to an awaiter, who may be long in coming.
        case takeUpHop

        /// Whether the request was under way, and was cancelled by this.
        var isEffective: Bool { if case .none = self { false } else { true } }
    }

    /// The exchange that serializers of a cancelled request are shown.
    var cancelledExchange: CompletedExchange {
        CompletedExchange(
            hop: lastHop, attempts: attemptCount, error: cancellation ?? .requestCancelled, past: past)
    }

    // MARK: Serializers

    enum AttachAction {
        case none
        /// The request waits for `resume()`: the session keeps it meanwhile, to answer it if the session ends first.
        case keep(released: Session?)
        case run(Opening)
        case workLate
        /// Go on with the hop that is left to an awaiter, who may be long in coming.
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

    /// Somebody waits for what comes of the request, which starts or is kept until it does.
    mutating func demand(startsAutomatically: Bool) -> AttachAction {
        guard phase == .idle else { return .none }
        if startsAutomatically, pace == .flowing { return start() == .run ? .run(open()) : .none }
        heldFace = face
        guard beginKeeping() else { return .none }
        defer { session = nil }
        return .keep(released: session)
    }

    /// Takes a serializer's response if the request is still in this phase; after a cancel somebody else answers.
    /// Says whether it was taken, and returns the response that it replaces, to be let go of after unlocking.
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
        /// There is none, but the finish stops timers of the user's clock, or releases objects of the user's.
        case needsTask
        case finished(callsHandlers: Bool)
        case abandon
    }

    /// What is to be done at the finish, and what was held until then: it is let go of after unlocking, because the
    /// last reference to a session ends it.
    struct Finish: Sendable {
        let deliveries: Few<Delivery>
        let events: [PendingEvents.Entry]
        let session: Session?
        let place: UInt64?
        let face: (any Request)?
        let settings: RequestSettings
        let deadlines: Deadlines
    }

    /// The next serializer to run or, when there is none, the finish, in one step: a serializer is attached either
    /// before it, and runs, or after it, and is late.
    ///
    /// - Parameter held: The response of the serializer that has run last.
    mutating func nextWork(
        after held: HeldResponse? = nil, finishingBy event: RequestPhase.Event, with exchange: CompletedExchange,
        isInTask: Bool = true
    ) -> (NextWork, Finish?) {
        let (next, verdict) = phase.receiving(event)
        guard verdict == .proceed else { return (.abandon, nil) }
        if let held, queue[held.slot].hold(held.response).isHeld { note(.serialize(nil)) }
        if let next = queue.nextWaiting() {
            stage = .serializing
            return (.serialize(slot: next.slot, next.job, limit: deadlines.attempt), nil)
        }
        guard isInTask || deadlines.isEmpty && !settings.ownsUserCode else { return (.needsTask, nil) }
        phase = next
        self.exchange = exchange
        let deliveries = queue.deliverHeld()
        // The transport is told to end a cancelled hop, and may take its time.
        if hop != nil { note(.endHop(.cancelled)) }
        note(.finish(exchange.error))
        pipeline = nil
        let (released, limits) = (settings, deadlines)
        (settings, deadlines) = (released.remains, Deadlines())
        let finish = Finish(
            deliveries: deliveries, events: pendingEvents.begin(), session: session.take(), place: place,
            face: heldFace.take(), settings: released, deadlines: limits)
        return (.finished(callsHandlers: queue.beginHandlers()), finish)
    }

    // MARK: Pace

    /// Sets the pace; true if that changed something.
    mutating func setPace(_ pace: Pace) -> Bool {
        guard self.pace != pace, phase != .finished, phase != .unwinding else { return false }
        self.pace = pace
        note(pace == .flowing ? .resume : .suspend)
        return true
    }

    typealias PaceStep = (task: any TransportTask, pace: Pace)

    /// What to tell the current hop next so that it runs at the user's pace.
    ///
    /// Two threads that suspend and resume at once must not tell the transport in the wrong order: one applies, until
    /// what was applied is what is wanted; the other leaves it to the first.
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

    /// Hands a hop over, or tells the pipeline what else to do.
    mutating func beginHop(_ progress: HopProgress) -> RequestPhase.Verdict {
        let verdict = step(.beginHop)
        if verdict == .proceed { (hop, ended, stage) = (progress, nil, .sending) }
        return verdict
    }

    enum ReceiveAction: Sendable {
        case none
        case fill(ByteChannel, Data)
        /// The rest of the body is of no use to anybody.
        case endHop(any TransportTask)
        case reportUpload(TransferProgress, [RequestFollower<TransferProgress>])
        /// The body is thrown away: nobody will read it, so nobody would allow it.
        case allowAll(any TransportTask)
        /// The task is let go of after unlocking: its end is the transport's code (R1).
        case complete(HopProgress.Continuation, HopOutcome, any TransportTask)
        /// The same for a hop whose head was taken: its end is what the reader sees, if there is one.
        case endBody(ByteChannel?, TransportError?, any TransportTask)
        /// The same for a hop that no task waits for.
        case goOn(CompletedExchange, Session?, any TransportTask)
        /// The same, left to the awaiter of the response.
        case leave(to: Suspension<SerializerSlot.Answer>)
    }

    /// Takes a fact of the transport. What belongs to no hop under way is too late and ignored.
    mutating func receive(_ event: TransportEvent, for id: TransportTaskID) -> ReceiveAction {
        guard let hop, hop.id == id else { return .none }
        note(RequestEvent(event))
        switch event {
        case .head(let head):
            hop.head = head
            if hop.isAwaited, settings.content.redirectHandler != nil,
                HopPolicy.isRedirect(head, options: hop.request.options)
            {
                hop.isAskedAbout = true
                return takeHead(hop)
            }
            guard HopPolicy.isAnswered(head, to: hop.request) else {
                return hop.acceptsDeclaredLength() ? takeHead(hop) : .endHop(hop.task)
            }
            hop.sink = .discard(budget: BodySink.discardLimit)
            return .allowAll(hop.task)
        case .body(let bytes):
            let length = hop.sink.isGrowing ? hop.head?.contentLength : nil
            guard hop.accepts(UInt64(bytes.count), of: length) else { return .endHop(hop.task) }
            if hop.isCounted { received = max(received, hop.offset + hop.received) }
            if case .channel(let channel) = hop.sink { return .fill(channel, bytes) }
            return hop.sink.append(bytes, expecting: length) == .endHop ? .endHop(hop.task) : .none
        case .bodySent(let count):
            guard let progress = advanceUpload(to: count, of: hop.request.body.length) else { return .none }
            return .reportUpload(progress, settings.content.followers.upload)
        case .metrics(let metrics):
            hop.metrics = metrics
            return .none
        case .completed(let error):
            if let awaiter = leaveToAwaiter(hop, error) { return .leave(to: awaiter) }
            let exchange = end(hop, error)
            switch hop.waiter {
            case .pipeline(let continuation): return .complete(continuation, .ended(exchange), hop.task)
            case .nobody, .awaiter: return .goOn(exchange, session, hop.task)
            case .reader(let channel):
                ended = exchange
                return .endBody(channel, exchange.hop?.error, hop.task)
            }
        }
    }

    /// Records how the hop went, which is not under way from now on.
    mutating func end(_ hop: HopProgress, _ error: TransportError?) -> CompletedExchange {
        self.hop = nil
        let ended = hop.ended(with: error)
        attempt?.append(ended)
        return CompletedExchange(hop: ended, data: hop.takeBody(), attempts: attemptCount, past: past)
    }

    /// Has the pipeline go on: with a body that is not kept in memory, with a redirect that a handler decides about, or with
    /// a head that response gates see first.
    private mutating func takeHead(_ hop: HopProgress) -> ReceiveAction {
        var channel: ByteChannel?
        if case .channel(let body) = hop.sink { channel = body }
        guard channel != nil || hop.isAskedAbout || hop.isGated, case .pipeline(let continuation) = hop.waiter,
            step(.receive) == .proceed
        else { return .none }
        hop.waiter = .reader(channel)
        let head = Hop(request: hop.request, head: hop.head, metrics: hop.metrics)
        let exchange = CompletedExchange(hop: head, attempts: attemptCount, past: past)
        if hop.isAskedAbout { return .complete(continuation, .redirect(exchange, channel), hop.task) }
        return .complete(continuation, channel.map { .live(exchange, $0) } ?? .gated(exchange), hop.task)
    }

    // MARK: Progress

    /// Counts what was sent; nil if it was counted before, or nobody wants to hear of it.
    private mutating func advanceUpload(to count: UInt64, of total: UInt64?) -> TransferProgress? {
        let completed = min(max(count, uploaded?.completed ?? 0), total ?? .max)
        let progress = TransferProgress(completed: completed, total: total)
        guard progress != uploaded else { return nil }
        uploaded = progress
        return settings.content.followers.upload.isEmpty ? nil : progress
    }
}
