/// One monitor's own queue: events wait here in order and are handed over one at a time.
///
/// A thread drains it while there is something in it: one for each burst, not one for each event, or order would be lost (R5).
package final class MonitorMailbox: Sendable {
    private enum Drain { case idle, running, closed }

    private struct Mail {
        var drain = Drain.idle
        var queue: EventQueue
        var invalidations: [Invalidation] = []
    }

    /// The end of a session, which comes behind so many of the letters that wait.
    struct Invalidation: Sendable {
        let place: Int
        let error: (any Error)?
    }

    enum Reader {
        case monitor(any EventMonitor)
        /// Somebody who comes for it when the bell rings.
        case sequence(AsyncStream<Void>.Continuation)
    }

    private let reader: Reader
    private let box: Protected<Mail>

    init(for reader: Reader, of request: RequestID? = nil) {
        self.reader = reader
        box = Protected(Mail(queue: EventQueue(admitting: request)))
    }

    package func post(_ event: RequestEvent, from request: any Request) {
        add { $0.queue.post(event, from: request) }
    }

    package func postInvalidation(_ error: (any Error)?) {
        add { $0.invalidations.append(Invalidation(place: $0.queue.letters.count, error: error)) }
    }

    private func add(_ change: (inout Mail) -> Void) {
        let before = box.withLock { mail in
            guard mail.drain != .closed else { return Drain.closed }
            change(&mail)
            defer { mail.drain = .running }
            return mail.drain
        }
        guard before == .idle else { return }
        switch reader {
        case .monitor: MonitorThreads.drain(self)
        case .sequence(let bell): bell.yield()
        }
    }

    /// Tells the monitor until nothing waits, on a thread of its own for as long as that takes.
    func run() {
        guard case .monitor(let monitor) = reader else { return }
        while let mail = take() {
            var invalidations = mail.invalidations[...]
            for (place, letter) in mail.letters.enumerated() {
                while let next = invalidations.first, next.place <= place {
                    monitor.sessionDidInvalidate(next.error)
                    invalidations.removeFirst()
                }
                monitor.request(letter.request, did: letter.event)
            }
            if mail.missed > 0 { monitor.didMiss(mail.missed) }
            for invalidation in invalidations { monitor.sessionDidInvalidate(invalidation.error) }
        }
    }

    /// What waits; nil, and whoever posts next has it drained again, if nothing does.
    func take() -> (letters: [EventQueue.Letter], missed: Int, invalidations: [Invalidation])? {
        box.withLock { mail in
            let (letters, missed) = mail.queue.take()
            let invalidations = mail.invalidations
            guard !letters.isEmpty || missed > 0 || !invalidations.isEmpty else {
                if mail.drain == .running { mail.drain = .idle }
                return nil
            }
            mail.invalidations = []
            return (letters, missed, invalidations)
        }
    }

    /// Takes nothing more; what waits can still be read.
    func close() {
        box.withLock { $0.drain = .closed }
        if case .sequence(let bell) = reader { bell.finish() }
    }

    var isClosed: Bool { box.withLock { $0.drain == .closed } }
}
