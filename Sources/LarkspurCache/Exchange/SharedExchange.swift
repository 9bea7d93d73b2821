/// The way in which an exchange goes on after the head of the response.
enum ExchangeStep: Sendable {
    /// The readers get the response. Only if it is stored can there be several readers.
    case deliver((any CacheWriter)?)
    /// The readers get nothing before the end of the exchange.
    case hold
    /// The exchange is cancelled, and the readers get nothing before its end.
    case cancel
}

/// The end of an exchange.
struct ExchangeEnding: Sendable {
    let verdict: CacheVerdict?
    let error: TransportError?
    let metrics: TransportMetrics?
    /// The number of bytes of the body.
    let received: UInt64
    /// Whether the only reader got the events as they came.
    let isDirect: Bool
    /// Whether a question of the base's task was refused.
    let wasRefused: Bool
    let writer: (any CacheWriter)?
    /// The draft of the response for the owner's request, if the response is being stored.
    let draft: (any CacheDraft)?
    /// Whether the owner is still a reader.
    let hasOwner: Bool
    /// The time since which the base's task has waited for its admission, if it has not been admitted.
    let waitsSince: ContinuousClock.Instant?

    /// Whether the store may have a newer response because of the exchange.
    var isStored: Bool {
        guard error == nil else { return false }
        if case .confirmed = verdict { return true }
        return writer != nil
    }
}

/// One task of a transport, whose response goes to several readers.
///
/// The base's task is as fast as the fastest reader, and no faster than the writer of the store. A reader that keeps
/// pace gets the bytes as they arrive. A slower one reads the bytes from where they are being stored, so it holds up no
/// other reader. The base's task ends when the last reader leaves.
///
/// The task that began the exchange is its owner. It decides about the response, once for all readers, even if it has
/// ended itself. All tasks, the owner included, are readers. A reader's functions are called on the threads of the
/// base's task, and without a lock.
///
/// The exchange is also the body of the response that is being stored. The stored bytes stay readable until the last
/// reader has released the exchange, even if the draft is dropped.
final class SharedExchange: TransportDelegate {
    // Immutable
    let owner: CachingTask
    let plan: CachePlan
    private let isListed: Bool

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    private struct State {
        enum Stage { case waiting, delivering, holding, ended }

        var stage = Stage.waiting
        var seats = ExchangeSeats()
        var ownersSeat: Int?
        /// Whether no reader may join any more.
        var isClosed = false
        var isCancelled = false
        var wasRefused = false
        var verdict: CacheVerdict?
        var writer: (any CacheWriter)?
        var draft: SharedDraft?
        var metrics: TransportMetrics?
        /// The time since which the base's task waits for its admission; nil if it does not wait.
        var waitsSince: ContinuousClock.Instant?
        /// The number of times that the writer was behind, less those that it has caught up.
        var writerDelays = 0

        /// Whether the base's task waits for a reader whose bytes can only be kept in memory.
        var isHeldBack = false

        /// Whether the base's task has to pause.
        var hasToPause: Bool { seats.paces.wantPause || writerDelays > 0 || isHeldBack }

        /// Whether the only reader gets the events as they come. It does if it has always been the only one, and if the
        /// response is not stored: then all others have left at the head.
        var isDirect: Bool { !seats.paces.isShared || stage == .delivering && writer == nil }

        /// Whether trailers are passed on. They are not stored, so readers of a stored response do not get them.
        var passesTrailers: Bool { stage == .delivering && isDirect }
    }

    /// Creates the exchange of a task.
    ///
    /// - Parameter isListed: Whether other tasks may find and join the exchange.
    init(owner: CachingTask, plan: CachePlan, isListed: Bool) {
        (self.owner, self.plan, self.isListed) = (owner, plan, isListed)
        box = Protected(State())
    }

    // MARK: Readers

    /// A reader's place in the exchange.
    struct Ticket: Sendable {
        let seat: Int
        /// The verdict, if the response has already begun, and the number of bytes that were received before.
        let verdict: CacheVerdict?
        let received: UInt64
    }

    enum Entry: Sendable {
        case seated(Ticket)
        /// The base's task has begun to wait for its admission, or waits no longer. The reader reports this and tries
        /// again: it is no reader yet, so no other event comes meanwhile.
        case waits(Bool)
        /// The exchange takes no more readers.
        case closed
    }

    /// Adds a reader.
    ///
    /// - Parameter isWaiting: Whether the reader has reported that the base's task waits for its admission.
    func join(_ reader: CachingTask, _ pace: ExchangePace, isWaiting: Bool) -> Entry {
        let entry = box.withLock { state -> Entry in
            guard !state.isClosed else { return .closed }
            guard (state.waitsSince != nil) == isWaiting else { return .waits(!isWaiting) }
            let seat = state.seats.add(reader, pace)
            if reader === owner { state.ownersSeat = seat }
            return .seated(
                Ticket(
                    seat: seat, verdict: state.stage == .delivering ? state.verdict : nil,
                    received: state.seats.paces.received))
        }
        if case .seated = entry, reader !== owner { adjust() }
        return entry
    }

    /// Whether there are readers. A reader that waits for the end of the cancelled exchange is one of them. Without
    /// readers, the exchange takes no more.
    var isNeeded: Bool {
        let isNeeded = box.withLock { state in
            if state.seats.paces.count == 0 { state.isClosed = true }
            return state.seats.paces.count > 0
        }
        if !isNeeded, isListed { owner.close(self) }
        return isNeeded
    }

    /// Starts the base's task.
    func start(_ inner: any TransportTask) {
        let isCancelled = box.withLock { state in
            state.seats.paces.start(inner, granted: owner.request.initialAllowance)
            return state.isCancelled
        }
        if isCancelled { return inner.cancel() }
        inner.resume()
        // A reader may have suspended the base's task before that.
        adjust(after: false)
        if box.withLock({ $0.isCancelled }) { inner.cancel() }
    }

    func set(_ pace: ExchangePace, of seat: Int) {
        box.withLock { $0.seats.paces.set(pace, of: seat) }
        followSlowest()
        adjust()
    }

    /// Removes a reader. Returns false if it is the last one and wants to wait for the end of the exchange, which is
    /// then cancelled.
    func leave(_ seat: Int, waitsForEnd: Bool) -> Bool {
        let (hasLeft, isLast, inner, reader) = box.withLock {
            state -> (Bool, Bool, (any TransportTask)?, CachingTask?) in
            guard state.stage != .ended, state.seats.paces[seat] != nil else { return (true, false, nil, nil) }
            let (isLast, inner) = (state.seats.paces.count == 1, state.seats.paces.startedTask)
            if isLast { (state.isClosed, state.isCancelled) = (true, true) }
            if isLast, waitsForEnd { return (false, true, inner, nil) }
            if state.ownersSeat == seat { state.ownersSeat = nil }
            return (true, isLast, inner, state.seats.remove(seat))
        }
        withExtendedLifetime(reader) {}
        if isLast {
            if isListed { owner.close(self) }
            inner?.cancel()
        } else {
            followSlowest()
            adjust()
        }
        return hasLeft
    }

    /// Gives the base's task the pace that the readers want.
    ///
    /// - Parameter pace: The pace that the calling thread has set just now; nil if it has set none.
    private func adjust(after pace: Bool? = nil) {
        if let (inner, position) = box.withLock({ $0.seats.paces.nextGrant() }) { inner.allow(upTo: position) }
        var last = pace
        while let (inner, isPaused) = box.withLock({ state in
            state.seats.paces.nextPace(isPaused: state.hasToPause, after: last)
        }) {
            if isPaused { inner.suspend() } else { inner.resume() }
            last = isPaused
        }
    }

    // MARK: The base's events

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .head(let head): receive(head)
        case .body(let bytes): receive(bytes)
        case .metrics(let metrics): box.withLock { $0.metrics = metrics }
        case .completed(let error): complete(error)
        case .trailers: box.withLock { $0.passesTrailers ? $0.seats.onlyReader : nil }?.receive(event)
        case .admission(let part):
            let readers = box.withLock { state in
                state.waitsSince = part == .waits ? .now : nil
                return state.seats.readers
            }
            for reader in readers { reader.receive(event) }
        case .waitsForNetwork, .information, .bodySent, .cache: box.withLock { $0.seats.onlyReader }?.receive(event)
        }
    }

    /// Asks the readers in turn until one of them answers. All have the same rules, but some may have ended.
    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        for reader in box.withLock({ $0.seats.readers }) where !question.isAnswered { reader.answer(question) }
        if question.isRefused { box.withLock { $0.wasRefused = true } }
    }

    private func receive(_ head: ResponseHead) {
        // A base that serves a waiting task in another way has not reported its admission.
        if let start = box.withLock({ $0.waitsSince }) {
            received(.admission(.admitted(after: .now - start)), for: owner.id)
        }
        let (verdict, step) = owner.judge(head, of: self)
        let (only, readers, isDirect, inner) = box.withLock { state in
            state.verdict = verdict
            guard case .deliver(let writer) = step else {
                state.stage = .holding
                return (CachingTask?.none, [CachingTask](), false, state.seats.paces.startedTask)
            }
            state.stage = .delivering
            state.writer = writer
            if let writer, case .passed(_, let stored?) = verdict {
                state.draft = SharedDraft(writer, stored, owner)
            }
            if writer == nil { state.isClosed = true }
            let only = state.seats.onlyReader
            return (only, only == nil ? state.seats.readers : [], state.isDirect, nil)
        }
        switch step {
        case .deliver(let writer):
            if writer == nil, isListed { owner.close(self) }
            only?.follow(self, verdict, isDirect: true)
            for reader in readers { reader.follow(self, verdict, isDirect: isDirect) }
        case .hold: break
        case .cancel: inner?.cancel()
        }
    }

    private func receive(_ bytes: Data) {
        guard let writer = box.withLock({ $0.stage == .delivering ? .some($0.writer) : nil }) else { return }
        // The bytes are stored before a reader can learn of them.
        writer?.append(bytes)
        if let writer, writer.isBehind({ [weak self] in self?.delay(-1) }) { delay(1) }
        let (position, only, readers, isDirect) = box.withLock { state in
            let only = state.seats.onlyReader
            return (
                state.seats.paces.receive(bytes.count), only, only == nil ? state.seats.readers : [], state.isDirect
            )
        }
        defer { followSlowest() }
        only?.receive(bytes, at: position, from: self, isDirect: true)
        guard !readers.isEmpty else { return }
        for reader in readers { reader.receive(bytes, at: position, from: self, isDirect: isDirect) }
        adjust()
    }

    /// Counts the delays of the writer. The base's task pauses while the number is positive. The number is negative for
    /// a moment if the writer catches up before its delay is counted.
    private func delay(_ change: Int) {
        box.withLock { $0.writerDelays += change }
        adjust()
    }

    /// The number of bytes that the slowest reader may lack while bytes are only in memory.
    private static let memoryWindow: UInt64 = 1 << 20

    /// Releases the bytes that no reader needs, and lets the base's task wait for the slowest reader, if the disk has
    /// failed. A suspended reader may never go on, so the base's task does not wait for it: it fails if its bytes take
    /// too much memory.
    private func followSlowest() {
        guard let writer = box.withLock({ $0.writer }), writer.servesReadersOnly else { return }
        if box.withLock({ $0.isClosed.setOnce() }), isListed { owner.close(self) }
        // Another thread may have noted an older position in between, so the last change is followed by a look.
        var hasChanged = true
        while hasChanged {
            let now = box.withLock {
                $0.stage == .delivering ? ($0.seats.readersWithPaces, $0.seats.paces.received) : nil
            }
            guard let (paces, received) = now else { return }
            let first = writer.firstKept
            var (slowest, running) = (received, received)
            for (reader, isSuspended) in paces {
                guard let position = reader.position(in: self), position >= first else { continue }
                slowest = min(slowest, position)
                if !isSuspended { running = min(running, position) }
            }
            writer.release(before: slowest, orBefore: running)
            let isHeldBack = received - running > Self.memoryWindow
            hasChanged = box.withLock { state in
                defer { state.isHeldBack = isHeldBack }
                return state.isHeldBack != isHeldBack
            }
            if hasChanged { adjust() }
        }
    }

    private func complete(_ error: TransportError?) {
        let ending = box.withLock { state in
            ExchangeEnding(
                verdict: state.verdict, error: error, metrics: state.metrics, received: state.seats.paces.received,
                isDirect: state.isDirect, wasRefused: state.wasRefused, writer: state.writer,
                draft: state.draft, hasOwner: state.ownersSeat != nil, waitsSince: state.waitsSince)
        }
        owner.conclude(ending, of: self)
        let (readers, inner) = box.withLock { state in
            (state.stage, state.isClosed, state.verdict) = (.ended, true, nil)
            return (state.seats.removeAll(), state.seats.paces.takeTask())
        }
        withExtendedLifetime(inner) {}
        if isListed { owner.close(self, isStored: ending.isStored) }
        for reader in readers { reader.finish(self, ending) }
    }
}

extension SharedExchange: StoredBody {
    var count: UInt64 { box.withLock { $0.seats.paces.received } }

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        guard let writer = box.withLock({ $0.writer }) else {
            return done(.failure(TransportError(.connectionLost, "the response is not stored")))
        }
        writer.read(at: position) { [self] result in
            defer { followSlowest() }
            done(
                result.mapError { error in
                    let text = "the response was received by another request, and its bytes are no longer stored"
                    return TransportError(.connectionLost, text, phase: .receiving, underlying: error)
                })
        }
    }
}
