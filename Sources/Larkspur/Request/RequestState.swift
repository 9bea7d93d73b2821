/// Everything that changes about a request: the content of its box, and a pure machine.
///
/// Functions change the state and return what is to be done; nothing is done here. Whoever calls them does it after
/// unlocking (R1), so a test can drive every interleaving without a thread. There is one of each: it is large, and a copy
/// made by mistake would cost more than what it was made for.
struct RequestState: ~Copyable {
    /// Whether the session keeps the request, to list it and to end it.
    private enum Keeping {
        case notBegun
        /// Somebody has the session keep it, once.
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

    // Held while the request may still need them, given up at the finish
    private(set) var face: (any Request)?
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
    mutating func keep(_ session: Session) { self.session = session }

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
    mutating func start(_ face: any Request) -> RequestPhase.Verdict {
        let verdict = step(.start)
        guard verdict == .run else { return verdict }
        self.face = face
        note(.start)
        return verdict
    }

    /// Cancels with this reason; the first one counts.
    mutating func cancel(_ reason: RequestError, _ face: any Request) -> CancelAction {
        switch step(.cancel) {
        case .takeOver:
            self.face = face
            noteEnd(reason)
            return .takeOver(held: pipeline, hop?.task, discarded: queue.discardHeld())
        case .cancelHop:
            noteEnd(reason)
            return isLeftToAwaiter ? .shortWork : .cancelHop(hop?.task)
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
        /// Do what was left to an awaiter, who may be long in coming.
        case shortWork

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
        case run
        case workLate
        /// Do what was left to an awaiter, who may be long in coming.
        case shortWork
    }

    mutating func attach(
        _ slot: consuming SerializerSlot, of face: any Request, startsAutomatically: Bool
    ) -> (slot: Int, action: AttachAction) {
        let index = queue.append(slot)
        switch phase {
        case .idle: return (index, demand(face, startsAutomatically: startsAutomatically))
        case .finished: return (index, queue.beginLateWork() ? .workLate : .none)
        case .preparing, .transferring, .receiving, .settling, .backingOff, .cancellingHop, .unwinding:
            return (index, isLeftToAwaiter ? .shortWork : .none)
        }
    }

    /// Somebody waits for what comes of the request, which starts or is kept until it does.
    mutating func demand(_ face: any Request, startsAutomatically: Bool) -> AttachAction {
        guard phase == .idle else { return .none }
        if startsAutomatically, pace == .flowing { return start(face) == .run ? .run : .none }
        self.face = face
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
        case serialize(slot: Int, SerializerJob)
        case finished(Finish)
        case abandon
    }

    /// What is to be done at the finish, and what was held until then: it is let go of after unlocking, because the
    /// last reference to a session ends it.
    struct Finish: Sendable {
        let deliveries: Few<Delivery>
        let callsHandlers: Bool
        let events: [PendingEvents.Entry]
        let session: Session?
        let place: UInt64?
        let face: (any Request)?
        let settings: RequestSettings
        let deadlines: Deadlines
    }

    /// The next serializer to run or, when there is none, the finish, in one step: a serializer is attached either
    /// before it, and runs, or after it, and is late.
    mutating func nextWork(finishingBy event: RequestPhase.Event, with exchange: CompletedExchange) -> NextWork {
        let (next, verdict) = phase.receiving(event)
        guard verdict == .proceed else { return .abandon }
        if let next = queue.nextWaiting() {
            stage = .serializing
            return .serialize(slot: next.slot, next.job)
        }
        phase = next
        self.exchange = exchange
        let deliveries = queue.deliverHeld()
        // The transport is told to end a cancelled hop, and may take its time.
        if hop != nil { note(.endHop(.cancelled)) }
        note(.finish(exchange.error))
        pipeline = nil
        let (released, limits) = (settings, deadlines)
        (settings, deadlines) = (released.remains, Deadlines())
        return .finished(
            Finish(
                deliveries: deliveries, callsHandlers: queue.beginHandlers(), events: pendingEvents.begin(),
                session: session.take(), place: place, face: face.take(), settings: released, deadlines: limits))
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
        case answer(CompletedExchange, ShortWork?, any TransportTask)
        /// What is left of a hop that no task waits for is done by who awaits the response.
        case hand(to: Suspension<SerializerSlot.Answer>)
    }

    /// Takes a fact of the transport. What belongs to no hop under way is too late and ignored.
    mutating func receive(_ event: TransportEvent, for id: TransportTaskID) -> ReceiveAction {
        guard let hop, hop.id == id else { return .none }
        note(RequestEvent(event))
        switch event {
        case .head(let head):
            hop.head = head
            if hop.isAwaited, settings.asksAboutRedirects, HopPolicy.isRedirect(head, options: hop.request.options) {
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
            return .reportUpload(progress, settings.followers.upload)
        case .metrics(let metrics):
            hop.metrics = metrics
            return .none
        case .completed(let error):
            if case .nobody = hop.waiter, hop.isDelivered(with: error), hasShortWork,
                let awaiter = queue[0].takeSoleWaiter()
            {
                hop.waiter = .awaiter
                return .hand(to: awaiter)
            }
            let exchange = end(hop, error)
            switch hop.waiter {
            case .pipeline(let continuation): return .complete(continuation, .ended(exchange), hop.task)
            case .nobody, .awaiter: return .answer(exchange, hop.isDelivered(with: error) ? shortWork : nil, hop.task)
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
        return settings.followers.upload.isEmpty ? nil : progress
    }
}
