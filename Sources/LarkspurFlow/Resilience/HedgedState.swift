/// The mutable state of a hop that may be sent twice.
///
/// Until one of the two requests has a head, the hop has no winner. The winner's events are passed on. Events may come
/// on several threads, so they pass through a queue, which one thread at a time empties.
struct HedgedState {
    enum Leg { case first, second }

    private enum Progress {
        case notSent, inFlight
        case ended(TransportError?)
    }

    /// The work after an event.
    struct Step {
        /// Whether the event has made its request the winner.
        var isDecided = false
        var hedgedAfter: Duration?
        var loser: (any TransportTask)?
        var timer: DeadlineTimer?
        /// The two requests of a hop that has ended, to be released after unlocking.
        var ended: [any TransportTask] = []
        /// Whether the caller has to empty the queue of events.
        var delivers = false
    }

    var first: (any TransportTask)?
    var timer: DeadlineTimer?
    /// The time at which the hop began.
    var started = Duration.zero
    private(set) var isSuspended = true
    private(set) var allowed: UInt64
    private var second: (any TransportTask)?
    private var delegate: (any TransportDelegate)?
    private var firstProgress = Progress.notSent
    private var secondProgress = Progress.notSent
    private var winner: Leg?
    private var hedgedAfter: Duration?
    private var isCancelled = false
    private var isOver = false
    private var sent: UInt64 = 0
    /// The metrics of a request that has failed without a head.
    private var metrics: [Leg: TransportMetrics] = [:]
    private var queue: [TransportEvent] = []
    private var isDelivering = false

    init(delegate: any TransportDelegate, allowed: UInt64) { (self.delegate, self.allowed) = (delegate, allowed) }

    // MARK: Control

    var legs: [any TransportTask] { [first, second].compactMap(\.self) }

    /// Returns whether this is the first call.
    mutating func resume() -> Bool {
        isSuspended = false
        guard case .notSent = firstProgress, !isCancelled else { return false }
        firstProgress = .inFlight
        return true
    }

    mutating func suspend() -> [any TransportTask] {
        guard case .notSent = firstProgress else {
            isSuspended = true
            return legs
        }
        return []
    }

    mutating func cancel() -> [any TransportTask] {
        isCancelled = true
        return legs
    }

    /// Returns the delegate if the hop was cancelled before its start, and marks the hop as ended.
    mutating func endBeforeStart() -> (any TransportDelegate)? {
        guard case .notSent = firstProgress, !isOver else { return nil }
        isOver = true
        return delegate.take()
    }

    mutating func allow(upTo position: UInt64) -> [any TransportTask] {
        allowed = max(allowed, position)
        return legs
    }

    // MARK: The second request

    /// Returns false if the timer is not needed any more.
    mutating func keep(_ timer: DeadlineTimer) -> Bool {
        guard winner == nil, !isOver, !isCancelled else { return false }
        self.timer = timer
        return true
    }

    var mayHedge: Bool {
        guard case .inFlight = firstProgress, case .notSent = secondProgress else { return false }
        return winner == nil && !isCancelled && !isSuspended
    }

    /// Whether one of the requests is not needed any more.
    func isOver(_ leg: any TransportTask) -> Bool {
        isCancelled || isOver || winner == .first && leg === second || winner == .second && leg === first
    }

    /// Keeps the second request. Returns false if it is not needed any more.
    mutating func hedge(_ task: any TransportTask, after delay: Duration) -> Bool {
        guard mayHedge else { return false }
        (second, secondProgress, hedgedAfter) = (task, .inFlight, delay)
        return true
    }

    // MARK: Events

    /// Returns the receiver of the questions of a request.
    func receiver(of leg: Leg) -> (any TransportDelegate)? { winner == nil || winner == leg ? delegate : nil }

    mutating func receive(_ event: TransportEvent, from leg: Leg) -> Step {
        var step = Step()
        guard !isOver, winner == nil || winner == leg else { return step }
        // A second request that was not kept does not count.
        if leg == .second, case .notSent = secondProgress { return step }
        switch event {
        case .admission: if leg == .first, winner == nil { queue.append(event) }
        case .information: if leg == winner ?? .first { queue.append(event) }
        case .bodySent(let count): pass(count, event)
        case .cache, .head:
            if winner == nil { decide(leg, &step) }
            queue.append(event)
        case .body, .trailers: queue.append(event)
        case .metrics(let value):
            if winner == nil { metrics[leg] = value } else { queue.append(.metrics(recorded(value))) }
        case .completed(let error): complete(error, leg, &step)
        }
        step.delivers = !queue.isEmpty && isDelivering.setOnce()
        return step
    }

    mutating func nextEvent() -> (TransportEvent, any TransportDelegate)? {
        guard !queue.isEmpty, let delegate else {
            isDelivering = false
            return nil
        }
        let event = queue.removeFirst()
        if case .completed = event { self.delegate = nil }
        return (event, delegate)
    }

    /// With two requests, the number of sent bytes never falls.
    private mutating func pass(_ count: UInt64, _ event: TransportEvent) {
        if second != nil, count <= sent { return }
        sent = count
        queue.append(event)
    }

    private mutating func decide(_ leg: Leg, _ step: inout Step) {
        winner = leg
        step.isDecided = true
        step.hedgedAfter = hedgedAfter
        step.timer = timer.take()
        step.loser = leg == .first ? second : first
    }

    private mutating func complete(_ error: TransportError?, _ leg: Leg, _ step: inout Step) {
        if winner == nil {
            if leg == .first { firstProgress = .ended(error) } else { secondProgress = .ended(error) }
            let other = leg == .first ? secondProgress : firstProgress
            if case .inFlight = other, !isCancelled { return }
            step.timer = timer.take()
            // Both have failed, or the only one: the first one's error is the hop's.
            var failure = error
            if !isCancelled, case .ended(let firstError) = firstProgress { failure = firstError }
            queue.append(.metrics(recorded(metrics[.first] ?? metrics[leg] ?? TransportMetrics())))
            queue.append(.completed(failure))
        } else {
            queue.append(.completed(error))
        }
        isOver = true
        step.ended = legs
        (first, second) = (nil, nil)
    }

    private func recorded(_ metrics: TransportMetrics) -> TransportMetrics {
        guard let hedgedAfter else { return metrics }
        var metrics = metrics
        metrics.hedge = HedgeRecord(after: hedgedAfter, hasWon: winner == .second)
        return metrics
    }
}
