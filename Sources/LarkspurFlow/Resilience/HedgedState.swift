/// The mutable state of a hop that may be sent twice.
///
/// Until one of the two requests has a head, the hop has no winner. The winner's events are passed on. Events may come
/// on several threads, so they pass through a queue, which one thread at a time empties.
struct HedgedState {
    enum Leg { case first, second }

    private enum Phase: Equatable {
        /// Before the first `resume()`.
        case idle
        /// No request has a head.
        case racing
        case won(Leg)
        case over
    }

    /// The second request.
    private struct Hedge {
        let task: any TransportTask
        let delay: Duration
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
    private var hedge: Hedge?
    private var phase = Phase.idle
    private var delegate: (any TransportDelegate)?
    private var calls: EarlyCalls
    private var sent: UInt64 = 0
    /// The metrics and the errors of the requests that have ended without a head.
    private var metrics: [Leg: TransportMetrics] = [:]
    private var errors: [Leg: TransportError?] = [:]
    private var queue: [TransportEvent] = []
    private var isDelivering = false

    init(delegate: any TransportDelegate, allowed: UInt64) {
        self.delegate = delegate
        calls = EarlyCalls(isSuspended: true, isCancelled: false, allowed: allowed)
    }

    // MARK: Control

    var legs: [any TransportTask] { [first, hedge?.task].compactMap(\.self) }

    /// Returns whether this is the first call.
    mutating func resume() -> Bool {
        calls.isSuspended = false
        guard phase == .idle else { return false }
        phase = .racing
        return true
    }

    mutating func suspend() -> [any TransportTask] {
        if phase != .idle { calls.isSuspended = true }
        return legs
    }

    mutating func cancel() -> [any TransportTask] {
        calls.isCancelled = true
        return legs
    }

    /// Returns the delegate if the hop was cancelled before its start, and marks the hop as ended.
    mutating func endBeforeStart() -> (any TransportDelegate)? {
        guard phase == .idle else { return nil }
        phase = .over
        return delegate.take()
    }

    mutating func allow(upTo position: UInt64) -> [any TransportTask] {
        calls.allowed = max(calls.allowed, position)
        return legs
    }

    // MARK: The second request

    /// Returns false if the timer is not needed any more.
    mutating func keep(_ timer: DeadlineTimer) -> Bool {
        guard phase == .racing, !calls.isCancelled else { return false }
        self.timer = timer
        return true
    }

    var mayHedge: Bool {
        phase == .racing && hedge == nil && errors[.first] == nil && !calls.isCancelled && !calls.isSuspended
    }

    /// Returns the calls that a request has to learn of. A request that is not needed any more is cancelled.
    func calls(of leg: Leg) -> EarlyCalls {
        var calls = calls
        calls.isCancelled = calls.isCancelled || phase != .racing && phase != .won(leg)
        return calls
    }

    /// Keeps the second request. Returns false if it is not needed any more.
    mutating func hedge(_ task: any TransportTask, after delay: Duration) -> Bool {
        guard mayHedge else { return false }
        hedge = Hedge(task: task, delay: delay)
        return true
    }

    // MARK: Events

    /// Returns the receiver of the questions of a request.
    func receiver(of leg: Leg) -> (any TransportDelegate)? {
        phase == .racing || phase == .won(leg) ? delegate : nil
    }

    mutating func receive(_ event: TransportEvent, from leg: Leg) -> Step {
        var step = Step()
        let isRacing = phase == .racing
        // A second request that was not kept does not count.
        guard isRacing || phase == .won(leg), leg == .first || hedge != nil else { return step }
        switch event {
        case .admission: if leg == .first, isRacing { queue.append(event) }
        case .information, .waitsForNetwork: if leg == .first || !isRacing { queue.append(event) }
        case .bodySent(let count): pass(count, event)
        case .cache, .head:
            if isRacing { decide(leg, &step) }
            queue.append(event)
        case .body, .trailers: queue.append(event)
        case .metrics(let value):
            if isRacing { metrics[leg] = value } else { queue.append(.metrics(recorded(value))) }
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
        if hedge != nil, count <= sent { return }
        sent = count
        queue.append(event)
    }

    private mutating func decide(_ leg: Leg, _ step: inout Step) {
        phase = .won(leg)
        step.isDecided = true
        step.hedgedAfter = hedge?.delay
        step.timer = timer.take()
        step.loser = leg == .first ? hedge?.task : first
    }

    private mutating func complete(_ error: TransportError?, _ leg: Leg, _ step: inout Step) {
        if phase == .racing {
            errors[leg] = .some(error)
            let isOtherInFlight = leg == .second ? errors[.first] == nil : hedge != nil && errors[.second] == nil
            if isOtherInFlight, !calls.isCancelled { return }
            step.timer = timer.take()
            queue.append(.metrics(recorded(metrics[.first] ?? metrics[leg] ?? TransportMetrics())))
            // Both have failed, or the only one: the first one's error is the hop's.
            queue.append(.completed(calls.isCancelled ? error : errors[.first] ?? error))
        } else {
            queue.append(.completed(error))
        }
        phase = .over
        step.ended = legs
        (first, hedge) = (nil, nil)
    }

    private func recorded(_ metrics: TransportMetrics) -> TransportMetrics {
        guard let hedge else { return metrics }
        var metrics = metrics
        metrics.hedge = HedgeRecord(after: hedge.delay, hasWon: phase == .won(.second))
        return metrics
    }
}
