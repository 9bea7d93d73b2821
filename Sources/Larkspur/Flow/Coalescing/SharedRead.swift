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

    /// The pace at which a reader wants the events. Of several paces, the one with the largest number counts.
    struct Pace {
        var number: UInt64 = 0
        var isSuspended = false
        var allowed: UInt64
    }

    private struct Reader {
        let task: CoalescedTask
        var position = 0
        var pace: Pace
    }

    private struct State {
        var inner: (any TransportTask)?
        var readers: [Int: Reader] = [:]
        var lastSeat = 0
        var isClosed = false
        var isCancelled = false
        var hasEnded = false
        var received: UInt64 = 0
        /// The events, and the number of those before the first one here, which were released.
        var log: [TransportEvent] = []
        var released = 0
        var granted: UInt64 = 0
        var appliedPace = false
        var isApplying = false

        /// The number of readers that are suspended.
        var suspended = 0
        /// The largest position that a reader has ever allowed.
        var allowed: UInt64 = 0
        /// The number of events that were read since the last release of read events.
        var reads = 0

        var isSuspended: Bool { !readers.isEmpty && suspended == readers.count }

        mutating func set(_ pace: Pace, of seat: Int) {
            guard let old = readers[seat]?.pace, old.number < pace.number else { return }
            readers[seat]?.pace = pace
            suspended += (pace.isSuspended ? 1 : 0) - (old.isSuspended ? 1 : 0)
            allowed = max(allowed, pace.allowed)
        }

        mutating func nextGrant() -> (any TransportTask, UInt64)? {
            guard let inner, granted < allowed else { return nil }
            granted = allowed
            return (inner, allowed)
        }

        mutating func nextPace(after last: Bool?) -> (any TransportTask, Bool)? {
            if last != nil { isApplying = false }
            guard !isApplying, let inner, appliedPace != isSuspended else { return nil }
            (appliedPace, isApplying) = (isSuspended, true)
            return (inner, isSuspended)
        }

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
            state.lastSeat += 1
            let pace = Pace(allowed: task.request.initialAllowance)
            state.readers[state.lastSeat] = Reader(task: task, pace: pace)
            state.allowed = max(state.allowed, pace.allowed)
            return state.lastSeat
        }
    }

    func start() {
        var request = request
        request.timeouts.total = nil
        request.flow?.timeLeft = nil
        let inner = transport.base.task(for: request, id: TransportTaskID(0), delegate: self)
        let isCancelled = box.withLock { state in
            // No other thread sets the pace before the start.
            (state.inner, state.granted, state.isApplying) = (inner, request.initialAllowance, true)
            return state.isCancelled
        }
        if isCancelled { return inner.cancel() }
        inner.resume()
        adjust(after: false)
        if box.withLock({ $0.isCancelled }) { inner.cancel() }
    }

    func set(_ pace: Pace, of seat: Int) {
        box.withLock { $0.set(pace, of: seat) }
        adjust()
    }

    /// Removes a reader. The last one cancels the exchange.
    func leave(_ seat: Int) {
        let (inner, reader) = box.withLock { state -> ((any TransportTask)?, Reader?) in
            let reader = state.readers.removeValue(forKey: seat)
            if reader?.pace.isSuspended == true { state.suspended -= 1 }
            guard state.readers.isEmpty, !state.hasEnded else { return (nil, reader) }
            (state.isClosed, state.isCancelled) = (true, true)
            return (state.inner, reader)
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
            return event
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
        if let (inner, position) = box.withLock({ $0.nextGrant() }) { inner.allow(upTo: position) }
        var last = pace
        while let (inner, isSuspended) = box.withLock({ $0.nextPace(after: last) }) {
            if isSuspended { inner.suspend() } else { inner.resume() }
            last = isSuspended
        }
    }

    // MARK: The base's side

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        let (readers, closes, inner) = box.withLock { state -> ([CoalescedTask], Bool, (any TransportTask)?) in
            let wasClosed = state.isClosed
            var inner: (any TransportTask)?
            switch event {
            case .body(let bytes):
                state.received += UInt64(bytes.count)
                if state.received > Self.limit { state.isClosed = true }
            case .completed:
                (state.isClosed, state.hasEnded) = (true, true)
                inner = state.inner.take()
            case .admission, .information, .cache, .head, .trailers, .bodySent, .metrics: break
            }
            state.log.append(event)
            state.releaseRead()
            return (state.readers.values.map(\.task), state.isClosed && !wasClosed, inner)
        }
        withExtendedLifetime(inner) {}
        if closes { transport.unlist(self) }
        for reader in readers { reader.pump() }
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
