/// The queue of one monitor. Events wait here in order, and are delivered one at a time.
///
/// One thread at a time delivers events, until the queue is empty. If each event had its own task, the events could
/// arrive in another order (rule R5 in Concurrency.md).
package final class MonitorQueue: Sendable {
    fileprivate enum Drain { case idle, running, closed }

    fileprivate struct State {
        var drain = Drain.idle
        var queue: EventQueue
        var invalidations: [Invalidation] = []
        var line = MonitorLine()
        var readers = MonitorReaders()
    }

    /// The events that are delivered together.
    struct Batch: Sendable {
        let entries: [EventQueue.Entry]
        let missed: Int
        let dropped: Int
        let invalidations: [Invalidation]

        var isEmpty: Bool { entries.isEmpty && missed == 0 && dropped == 0 && invalidations.isEmpty }
    }

    /// The invalidation of a session. `place` is the number of waiting events that come before the invalidation.
    struct Invalidation: Sendable {
        let place: Int
        let error: (any Error)?
    }

    enum Reader {
        case monitor(any EventMonitor)
        /// An asynchronous sequence. The queue signals it when events arrive, and the sequence then takes the events
        /// itself.
        case sequence(AsyncStream<Void>.Continuation)
    }

    /// The number of waiting events from which they are delivered at once.
    private static let calmLimit = 64

    private let reader: Reader
    /// Whether the monitor can wait for its events. A queue of one request costs less without this.
    private let isListed: Bool
    /// Whether hops wait until the queue has room.
    let delaysRequests: Bool
    /// The maximum number of bytes of each body that the reader gets.
    let bodyLimit: Int
    /// The interval of the values of streams that the reader gets; 0 if it gets none.
    let parsingInterval: Int
    /// The identity of the monitor's code. Requests that this code makes do not wait for the monitor.
    let work = SharedWork()
    private let box: Protected<State>

    init(for reader: Reader, of request: RequestID? = nil) {
        self.reader = reader
        if case .monitor(let monitor) = reader {
            (delaysRequests, bodyLimit) = (monitor.delaysRequests, max(0, monitor.bodyLimit))
            parsingInterval = max(0, monitor.parsingInterval)
        } else {
            (delaysRequests, bodyLimit, parsingInterval) = (false, 0, 0)
        }
        box = Protected(State(queue: EventQueue(admitting: request, acceptsAll: delaysRequests)))
        isListed = delaysRequests || request == nil
        if isListed, case .monitor(let monitor) = reader { MonitorQueues.add(self, for: monitor) }
    }

    deinit {
        if isListed, case .monitor(let monitor) = reader {
            MonitorQueues.remove(ObjectIdentifier(self), of: monitor)
        }
    }

    func post(
        _ event: RequestEvent, from request: any Request, _ occurrence: EventQueue.Occurrence = .inside
    ) {
        var entry: EventQueue.Entry? = EventQueue.Entry(request: request, event: event, occurrence: occurrence)
        post(&entry)
    }

    /// Adds an event, and moves it out of the variable.
    func post(_ entry: inout EventQueue.Entry?) {
        if entry?.event.dependsOnReader == true {
            guard let cut = entry?.event.cut(to: bodyLimit, parsingInterval) else { return }
            entry?.event = cut
        }
        add { $0.queue.post(&entry) }
    }

    package func postInvalidation(_ error: (any Error)?) {
        add { $0.invalidations.append(Invalidation(place: $0.queue.entries.count, error: error)) }
    }

    private func add(_ change: (inout State) -> Void) {
        let before = box.withLock { state in
            guard state.drain != .closed else { return Drain.closed }
            change(&state)
            defer { state.drain = .running }
            return state.drain
        }
        guard before == .idle else { return }
        switch reader {
        case .monitor: MonitorThreads.drain(self)
        case .sequence(let signal): signal.yield()
        }
    }

    /// Calls the monitor until the queue is empty, on the current thread.
    func run() {
        guard case .monitor(let monitor) = reader else { return }
        guard delaysRequests else { return run(monitor) }
        SharedWork.$current.withValue([work]) { run(monitor) }
    }

    private func run(_ monitor: any EventMonitor) {
        while let batch = take() {
            var invalidations = batch.invalidations[...]
            // An index, because an iterator would copy each entry.
            for place in batch.entries.indices {
                while let next = invalidations.first, next.place <= place {
                    monitor.sessionDidInvalidate(next.error)
                    invalidations.removeFirst()
                }
                monitor.request(batch.entries[place].request, did: batch.entries[place].event)
            }
            if batch.missed > 0 { monitor.didMiss(batch.missed) }
            if batch.dropped > 0 { monitor.didDrop(batch.dropped) }
            for invalidation in invalidations { monitor.sessionDidInvalidate(invalidation.error) }
            if isListed, isCalm { MonitorThreads.gatherEvents() }
        }
    }

    /// Whether few events wait, and no caller waits for their delivery.
    private var isCalm: Bool {
        box.withLock { state in
            state.queue.entries.count < Self.calmLimit && state.invalidations.isEmpty && state.readers.isEmpty
                && state.line.count == 0
        }
    }

    /// Removes and returns all waiting events. If no events are waiting, returns nil; the next event that is added then
    /// starts another delivery.
    func take() -> Batch? {
        let (batch, next, readers) = box.withLock { state in
            let (entries, missed, dropped) = state.queue.take()
            let batch = Batch(
                entries: entries, missed: missed, dropped: dropped, invalidations: state.invalidations)
            state.invalidations = []
            if batch.isEmpty, state.drain == .running { state.drain = .idle }
            let next = delaysRequests ? state.nextInLine(ofNewBatch: true) : nil
            return (batch, next, state.readers.next(isIdle: batch.isEmpty))
        }
        for reader in readers { reader.resume() }
        next?.resume(returning: MonitorTurn(of: self))
        return batch.isEmpty ? nil : batch
    }

    /// Closes the queue for further events. Waiting events can still be read.
    func close() {
        box.withLock { $0.drain = .closed }
        if case .sequence(let signal) = reader { signal.finish() }
    }

    var isClosed: Bool { box.withLock { $0.drain == .closed } }

    /// Waits until the monitor has received all events that were added before. Not cancellable.
    func waitForDelivery() async {
        await suspended { (reader: Continuation<Void>) in
            let isIdle = box.withLock { state in
                if state.drain == .running { state.readers.add(reader) }
                return state.drain != .running
            }
            if isIdle { reader.resume() }
        }
    }

    // MARK: Hops that wait for room

    /// Whether a hop may begin without waiting.
    var isOpen: Bool { box.withLock { $0.isOpen } }

    /// The number of hops that wait.
    var waitingHops: Int { box.withLock { $0.line.count } }

    /// Waits until the queue has room for the events of another hop, or the task is cancelled. Hops begin in the order
    /// in which they have called this function.
    ///
    /// - Returns: The turn of this hop. The next hop waits until the turn has ended. Nil if there was no need to wait.
    func turn() async -> MonitorTurn? {
        let number = box.withLock { $0.line.nextNumber() }
        return await suspended { waiter in
            let isOpen = box.withLock { state in
                if !state.isOpen { state.line.append(waiter, number) }
                return state.isOpen
            }
            if isOpen { waiter.resume(returning: nil) }
        } onCancel: {
            box.withLock { $0.line.remove(number) }?.resume(returning: nil)
        }
    }

    fileprivate func endTurn() {
        let next = box.withLock { state in
            state.line.hasTurn = false
            return state.nextInLine()
        }
        next?.resume(returning: MonitorTurn(of: self))
    }
}

extension MonitorQueue.State {
    fileprivate var isOpen: Bool { line.count == 0 && queue.hasRoom }

    /// Returns the waiter whose turn begins; nil if the next hop still has to wait.
    ///
    /// If the result is nil although hops wait, either a turn is under way, whose end calls this function again, or
    /// events are being delivered, and the next call of `take()` does.
    fileprivate mutating func nextInLine(ofNewBatch isNew: Bool = false) -> MonitorLine.Waiter? {
        if isNew { line.turns = 0 }
        guard !line.hasTurn, drain == .idle || queue.hasRoom && line.turns < MonitorLine.turnLimit else { return nil }
        return line.next()
    }
}

/// The turn of a hop that has waited for a monitor. It ends when the hop has begun, at the latest when it is released.
final class MonitorTurn: Sendable {
    private let queue: MonitorQueue
    private let isOver = Protected(false)

    fileprivate init(of queue: MonitorQueue) { self.queue = queue }

    deinit { end() }

    func end() {
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        if isFirst { queue.endTurn() }
    }
}
