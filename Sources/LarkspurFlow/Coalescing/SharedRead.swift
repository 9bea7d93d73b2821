/// One exchange whose events go to several tasks.
///
/// The events are kept in a log, which each task reads at its own pace. The base's task is as fast as the fastest
/// reader. When no further task may join, events that all tasks have read are released.
final class SharedRead: TransportDelegate {
    /// The size of a response body from which on no further task joins.
    private static let limit: UInt64 = 256 << 10

    // Immutable
    let key: CoalescingKey
    private let request: TransportRequest
    private let transport: CoalescingTransport

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct Reader {
        let task: CoalescedTask
        /// The number of events that were read.
        var position = 0
    }

    private struct State {
        var paces = ExchangePaces()
        /// The readers, by their seats.
        var readers: [Int: Reader] = [:]
        var isClosed = false
        var isCancelled = false
        var hasEnded = false
        /// Whether a reader has got the number of repetitions. The others get none: each charges its retry budget.
        var hasCounted = false
        /// The events, and the number of those before the first one here, which were released.
        var log: [TransportEvent] = []
        var released = 0
        /// The number of events that were read since the last release of read events.
        var reads = 0

        /// Releases the events that all readers have read. To search all readers at each read would take too long, so
        /// this is done once for as many reads as there are readers.
        mutating func releaseRead() {
            reads += 1
            guard isClosed, reads >= readers.count else { return }
            reads = 0
            guard let first = readers.values.map(\.position).min(), first > released else { return }
            log.removeFirst(first - released)
            released = first
        }
    }

    init(_ key: CoalescingKey, _ request: TransportRequest, transport: CoalescingTransport) {
        (self.key, self.request, self.transport) = (key, request, transport)
    }

    // MARK: Readers

    /// Adds a reader. Returns nil if the exchange takes no more readers, or if the task has a higher priority than the
    /// exchange.
    func join(_ task: CoalescedTask) -> Int? {
        box.withLock { state in
            guard !state.isClosed, task.request.priority <= request.priority else { return nil }
            let seat = state.paces.add(ExchangePace(allowed: task.request.initialAllowance))
            state.readers[seat] = Reader(task: task)
            return seat
        }
    }

    /// The number of readers.
    var count: Int { box.withLock { $0.paces.count } }

    func start() {
        var request = request
        request.timeouts.total = nil
        request.flow?.timeLeft = nil
        let inner = transport.base.task(for: request, id: TransportTaskID(0), delegate: self)
        let isCancelled = box.withLock { state in
            state.paces.start(inner, granted: request.initialAllowance)
            return state.isCancelled
        }
        if isCancelled { return inner.cancel() }
        inner.resume()
        adjust(after: false)
        if box.withLock({ $0.isCancelled }) { inner.cancel() }
    }

    func set(_ pace: ExchangePace, of seat: Int) {
        box.withLock { $0.paces.set(pace, of: seat) }
        adjust()
    }

    /// Removes a reader. The last one cancels the exchange.
    func leave(_ seat: Int) {
        let (inner, reader) = box.withLock { state -> ((any TransportTask)?, Reader?) in
            let reader = state.paces.remove(seat) ? state.readers.removeValue(forKey: seat) : nil
            guard state.readers.isEmpty, !state.hasEnded else { return (nil, reader) }
            (state.isClosed, state.isCancelled) = (true, true)
            return (state.paces.startedTask, reader)
        }
        withExtendedLifetime(reader) {}
        if box.withLock({ $0.isClosed }) { transport.unlist(self) }
        inner?.cancel()
        adjust()
    }

    /// Returns the next event for a reader; nil if there is none yet.
    func next(_ seat: Int, bodyIsAllowed: Bool) -> TransportEvent? {
        box.withLock { state in
            guard let reader = state.readers[seat], reader.position - state.released < state.log.count else {
                return nil
            }
            let event = state.log[reader.position - state.released]
            if case .body = event, !bodyIsAllowed { return nil }
            state.readers[seat]?.position += 1
            state.releaseRead()
            guard case .metrics(var metrics) = event, metrics.repetitions > 0, !state.hasCounted.setOnce() else {
                return event
            }
            metrics.repetitions = 0
            return .metrics(metrics)
        }
    }

    /// The error of the exchange, if it has failed.
    var failure: TransportError? {
        box.withLock { state in
            if case .completed(let error)? = state.log.last { error } else { nil }
        }
    }

    /// - Parameter pace: The pace that the calling thread has set just now; nil if it has set none.
    private func adjust(after pace: Bool? = nil) {
        if let (inner, position) = box.withLock({ $0.paces.nextGrant() }) { inner.allow(upTo: position) }
        var last = pace
        while let (inner, isPaused) = box.withLock({ state in
            state.paces.nextPace(isPaused: state.paces.count > 0 && state.paces.wantPause, after: last)
        }) {
            if isPaused { inner.suspend() } else { inner.resume() }
            last = isPaused
        }
    }

    // MARK: The base's side

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        let (readers, closes, inner) = box.withLock { state -> ([CoalescedTask], Bool, (any TransportTask)?) in
            let wasClosed = state.isClosed
            var inner: (any TransportTask)?
            switch event {
            case .body(let bytes):
                _ = state.paces.receive(bytes.count)
                if state.paces.received > Self.limit { state.isClosed = true }
            case .completed:
                (state.isClosed, state.hasEnded) = (true, true)
                inner = state.paces.takeTask()
            case .admission, .waitsForNetwork, .information, .cache, .head, .trailers, .bodySent, .metrics: break
            }
            state.log.append(event)
            state.releaseRead()
            return (state.readers.values.map(\.task), state.isClosed && !wasClosed, inner)
        }
        withExtendedLifetime(inner) {}
        if closes { transport.unlist(self) }
        for reader in readers { reader.pump() }
        if case .body = event { adjust() }
    }

    /// Asks all readers, because each of them has to know which evaluation its request waits for.
    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        guard case .serverTrust(let peer, let reply) = question else { return }
        // A reader that joins now would not be asked.
        let readers = box.withLock { state in
            state.isClosed = true
            return state.readers.values.map(\.task)
        }
        transport.unlist(self)
        var decision: TrustDecision?
        for reader in readers {
            let own = TransportReply<TrustDecision>()
            reader.answer(.serverTrust(peer, own))
            // All readers have the same rules. An evaluation may end while they are asked, so a later answer can be
            // better.
            if case .refused? = decision { decision = own.value ?? decision } else { decision = decision ?? own.value }
        }
        if let decision { reply(decision) }
    }
}
