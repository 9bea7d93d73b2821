/// The queue of one monitor. Events wait here in order, and are delivered one at a time.
///
/// One thread at a time delivers events, until the queue is empty. If each event had its own task, the events could
/// arrive in another order (rule R5 in Concurrency.md).
package final class MonitorQueue: Sendable {
    private enum Drain { case idle, running, closed }

    private struct State {
        var drain = Drain.idle
        var queue: EventQueue
        var invalidations: [Invalidation] = []
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

    private let reader: Reader
    private let box: Protected<State>

    init(for reader: Reader, of request: RequestID? = nil) {
        self.reader = reader
        box = Protected(State(queue: EventQueue(admitting: request)))
    }

    package func post(_ event: RequestEvent, from request: any Request) {
        add { $0.queue.post(event, from: request) }
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
        while let batch = take() {
            var invalidations = batch.invalidations[...]
            for (place, entry) in batch.entries.enumerated() {
                while let next = invalidations.first, next.place <= place {
                    monitor.sessionDidInvalidate(next.error)
                    invalidations.removeFirst()
                }
                monitor.request(entry.request, did: entry.event)
            }
            if batch.missed > 0 { monitor.didMiss(batch.missed) }
            for invalidation in invalidations { monitor.sessionDidInvalidate(invalidation.error) }
        }
    }

    /// Removes and returns all waiting events. If no events are waiting, returns nil; the next event that is added then
    /// starts another delivery.
    func take() -> (entries: [EventQueue.Entry], missed: Int, invalidations: [Invalidation])? {
        box.withLock { state in
            let (entries, missed) = state.queue.take()
            let invalidations = state.invalidations
            guard !entries.isEmpty || missed > 0 || !invalidations.isEmpty else {
                if state.drain == .running { state.drain = .idle }
                return nil
            }
            state.invalidations = []
            return (entries, missed, invalidations)
        }
    }

    /// Closes the queue for further events. Waiting events can still be read.
    func close() {
        box.withLock { $0.drain = .closed }
        if case .sequence(let signal) = reader { signal.finish() }
    }

    var isClosed: Bool { box.withLock { $0.drain == .closed } }
}
