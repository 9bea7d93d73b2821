/// A task that may share its exchange with equal tasks.
///
/// The task that began the exchange is its owner. It decides about the response, once for all readers, even if it has
/// ended itself. All tasks, the owner included, are readers. A reader's functions are called on the threads of the
/// base's task, and without a lock.
package protocol SharingTask: AnyObject, Sendable {
    /// The facts about the request that are known when the exchange begins.
    associatedtype Plan: Sendable
    /// The owner's decision about the response.
    associatedtype Verdict: Sendable

    /// Decides about the response. Called on the owner.
    func judge(_ head: ResponseHead, of exchange: SharedExchange<Self>) -> (Verdict, ExchangeStep)
    /// Decides about the stored response at the end of the exchange. Called on the owner, before the readers learn of
    /// the end.
    func conclude(_ ending: ExchangeEnding<Verdict>, of exchange: SharedExchange<Self>)
    /// Keeps further readers from joining. Called on the owner.
    func close(_ exchange: SharedExchange<Self>)

    /// Learns the decision about the response. Not called if the exchange holds the response back.
    func follow(_ exchange: SharedExchange<Self>, _ verdict: Verdict, isDirect: Bool)
    /// Receives bytes. If `isDirect`, the reader has to deliver them at once; the base's task keeps the reader's pace.
    func receive(_ bytes: Data, at position: UInt64, from exchange: SharedExchange<Self>, isDirect: Bool)
    /// Receives an event of a request's body, which a reader has only without others.
    func receive(_ event: TransportEvent)
    /// Learns that the exchange has ended.
    func finish(_ exchange: SharedExchange<Self>, _ ending: ExchangeEnding<Verdict>)
    /// Answers a question of the base, unless the reader has ended.
    func answer(_ question: TransportQuestion)
}

/// The way in which an exchange goes on after the head of the response.
package enum ExchangeStep: Sendable {
    /// The readers get the response. Only if it is stored can there be several readers.
    case deliver((any CacheWriter)?)
    /// The readers get nothing before the end of the exchange.
    case hold
    /// The exchange is cancelled, and the readers get nothing before its end.
    case cancel
}

/// The end of an exchange.
package struct ExchangeEnding<Verdict: Sendable>: Sendable {
    package let verdict: Verdict?
    package let error: TransportError?
    package let metrics: TransportMetrics?
    /// The number of bytes of the body.
    package let received: UInt64
    /// Whether the only reader got the events as they came.
    package let isDirect: Bool
    /// Whether a question of the base's task was refused.
    package let wasRefused: Bool
    package let writer: (any CacheWriter)?
    /// The draft of the response for the owner's request, if the response is being stored.
    package let draft: (any CacheDraft)?
    /// Whether the owner is still a reader.
    package let hasOwner: Bool
}

/// One task of a transport, whose response goes to several readers.
///
/// The base's task is as fast as the fastest reader, and no faster than the writer of the store. A reader that keeps
/// pace gets the bytes as they arrive. A slower one reads the bytes from where they are being stored, so it holds up no
/// other reader. The base's task ends when the last reader leaves.
///
/// The exchange is also the body of the response that is being stored. The stored bytes stay readable until the last
/// reader has released the exchange, even if the draft is dropped.
package final class SharedExchange<Reader: SharingTask>: TransportDelegate {
    // Immutable
    package let owner: Reader
    package let plan: Reader.Plan
    private let isListed: Bool

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    private struct State {
        enum Stage { case waiting, delivering, holding, ended }

        var inner: (any TransportTask)?
        var stage = Stage.waiting
        var seats = ExchangeSeats<Reader>()
        var ownersSeat: Int?
        /// Whether no reader may join any more.
        var isClosed = false
        var isCancelled = false
        var wasRefused = false
        var verdict: Reader.Verdict?
        var writer: (any CacheWriter)?
        var draft: SharedDraft?
        var metrics: TransportMetrics?
        /// The last pace and the last position that the base's task was given.
        var isPaused = false
        var granted: UInt64 = 0
        /// The number of times that the writer was behind, less those that it has caught up.
        var writerDelays = 0

        /// Whether the base's task has to pause.
        var hasToPause: Bool { seats.isPaused || writerDelays > 0 }

        /// Whether the only reader gets the events as they come. It does if it has always been the only one, and if the
        /// response is not stored: then all others have left at the head.
        var isDirect: Bool { !seats.isShared || stage == .delivering && writer == nil }

        /// Returns the pace for the base's task; nil if it has this pace already.
        ///
        /// - Parameter last: The pace that the calling thread has set last. Another thread may have set a newer one
        ///   in between, so the calling thread sets the pace until its last one is the right one.
        mutating func nextPace(after last: Bool?) -> (any TransportTask, isPaused: Bool)? {
            guard let inner, hasToPause != last ?? isPaused else { return nil }
            isPaused = hasToPause
            return (inner, isPaused)
        }

        mutating func nextGrant() -> (any TransportTask, UInt64)? {
            guard let inner, granted < seats.allowed else { return nil }
            granted = seats.allowed
            return (inner, granted)
        }
    }

    /// Creates the exchange of a task.
    ///
    /// - Parameter isListed: Whether other tasks may find and join the exchange.
    package init(owner: Reader, plan: Reader.Plan, isListed: Bool) {
        (self.owner, self.plan, self.isListed) = (owner, plan, isListed)
        box = Protected(State())
    }

    // MARK: Readers

    /// A reader's place in the exchange.
    package struct Ticket: Sendable {
        package let seat: Int
        /// The verdict, if the response has already begun, and the number of bytes that were received before.
        package let verdict: Reader.Verdict?
        package let received: UInt64
    }

    /// Adds a reader. Returns nil if the exchange takes no more readers.
    package func join(_ reader: Reader, _ pace: ExchangePace) -> Ticket? {
        let ticket = box.withLock { state -> Ticket? in
            guard !state.isClosed else { return nil }
            let seat = state.seats.add(reader, pace)
            if reader === owner { state.ownersSeat = seat }
            return Ticket(
                seat: seat, verdict: state.stage == .delivering ? state.verdict : nil, received: state.seats.received)
        }
        if ticket != nil { adjust() }
        return ticket
    }

    /// Whether there are readers. If there are none, no reader may join any more.
    package var isNeeded: Bool {
        let isNeeded = box.withLock { state in
            if state.seats.count == 0 { state.isClosed = true }
            return !state.isClosed
        }
        if !isNeeded, isListed { owner.close(self) }
        return isNeeded
    }

    /// Starts the base's task.
    package func start(_ inner: any TransportTask) {
        let (granted, isCancelled) = box.withLock { state in
            state.inner = inner
            state.granted = state.seats.allowed
            return (state.granted, state.isCancelled)
        }
        if isCancelled { return inner.cancel() }
        inner.allow(upTo: granted)
        inner.resume()
        adjust()
        if box.withLock({ $0.isCancelled }) { inner.cancel() }
    }

    package func set(_ pace: ExchangePace, of seat: Int) {
        box.withLock { $0.seats.set(pace, of: seat) }
        adjust()
    }

    /// Removes a reader. Returns false if it is the last one and wants to wait for the end of the exchange, which is
    /// then cancelled.
    package func leave(_ seat: Int, waitsForEnd: Bool) -> Bool {
        let (hasLeft, isLast, inner, reader) = box.withLock { state -> (Bool, Bool, (any TransportTask)?, Reader?) in
            guard state.stage != .ended else { return (true, false, nil, nil) }
            let isLast = state.seats.count == 1
            if isLast { (state.isClosed, state.isCancelled) = (true, true) }
            if isLast, waitsForEnd { return (false, true, state.inner, nil) }
            if state.ownersSeat == seat { state.ownersSeat = nil }
            return (true, isLast, state.inner, state.seats.remove(seat))
        }
        withExtendedLifetime(reader) {}
        if isLast {
            if isListed { owner.close(self) }
            inner?.cancel()
        } else {
            adjust()
        }
        return hasLeft
    }

    /// Gives the base's task the pace that the readers want.
    private func adjust() {
        if let (inner, position) = box.withLock({ $0.nextGrant() }) { inner.allow(upTo: position) }
        var last: Bool?
        while let (inner, isPaused) = box.withLock({ $0.nextPace(after: last) }) {
            if isPaused { inner.suspend() } else { inner.resume() }
            last = isPaused
        }
    }

    // MARK: The base's events

    package func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .head(let head): receive(head)
        case .body(let bytes): receive(bytes)
        case .metrics(let metrics): box.withLock { $0.metrics = metrics }
        case .completed(let error): complete(error)
        case .bodySent, .cache: box.withLock { $0.seats.onlyReader }?.receive(event)
        }
    }

    /// Asks the readers in turn until one of them answers. All have the same rules, but some may have ended.
    package func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        for reader in box.withLock({ $0.seats.readers }) where !question.isAnswered { reader.answer(question) }
        if question.isRefused { box.withLock { $0.wasRefused = true } }
    }

    private func receive(_ head: ResponseHead) {
        let (verdict, step) = owner.judge(head, of: self)
        let (readers, isDirect, inner) = box.withLock { state -> ([Reader], Bool, (any TransportTask)?) in
            state.verdict = verdict
            guard case .deliver(let writer) = step else {
                state.stage = .holding
                return ([], false, state.inner)
            }
            state.stage = .delivering
            state.writer = writer
            state.draft = writer.map(SharedDraft.init)
            if writer == nil { state.isClosed = true }
            return (state.seats.readers, state.isDirect, nil)
        }
        switch step {
        case .deliver(let writer):
            if writer == nil, isListed { owner.close(self) }
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
            return (state.seats.receive(bytes.count), only, only == nil ? state.seats.readers : [], state.isDirect)
        }
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

    private func complete(_ error: TransportError?) {
        let ending = box.withLock { state in
            ExchangeEnding(
                verdict: state.verdict, error: error, metrics: state.metrics, received: state.seats.received,
                isDirect: state.isDirect, wasRefused: state.wasRefused, writer: state.writer,
                draft: state.draft, hasOwner: state.ownersSeat != nil)
        }
        owner.conclude(ending, of: self)
        let (readers, inner) = box.withLock { state in
            (state.stage, state.isClosed, state.verdict) = (.ended, true, nil)
            return (state.seats.removeAll(), state.inner.take())
        }
        withExtendedLifetime(inner) {}
        if isListed { owner.close(self) }
        for reader in readers { reader.finish(self, ending) }
    }
}

extension SharedExchange: StoredBody {
    package var count: UInt64 { box.withLock { $0.seats.received } }

    package func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        guard let writer = box.withLock({ $0.writer }) else {
            return done(.failure(TransportError(.connectionLost, "the response is not stored")))
        }
        writer.read(at: position) { result in
            done(
                result.mapError { error in
                    let text = "the response was received by another request, and its bytes are no longer stored"
                    return TransportError(.connectionLost, text, phase: .receiving, underlying: error)
                })
        }
    }
}

/// The draft of a response that several readers may follow.
///
/// The response is dropped when the exchange and the owner's request have both released the draft, unless it was
/// committed. The draft holds neither of them: a request that never decides about its draft must not keep itself alive.
private final class SharedDraft: CacheDraft {
    private let writer: any CacheWriter

    init(_ writer: any CacheWriter) { self.writer = writer }

    deinit { writer.drop() }

    func commit(head: ResponseHead?, body: Data?) { writer.commit(head: head, body: body) }

    /// Does nothing: other readers may still need the bytes.
    func drop() {}
}

extension TransportQuestion {
    fileprivate var isAnswered: Bool {
        switch self {
        case .serverTrust(_, let reply): reply.value != nil
        case .clientIdentity(_, let reply): reply.value != nil
        case .bodyFromStart(_, let reply): reply.value != nil
        }
    }

    fileprivate var isRefused: Bool {
        if case .serverTrust(_, let reply) = self, case .refused? = reply.value { return true }
        return !isAnswered
    }
}
