import Larkspur

/// A hop with the faults of its plan. It is the delegate of the base's task.
final class FaultTask: TransportTask, TransportDelegate {
    // Immutable
    let id: TransportTaskID
    private let request: TransportRequest
    private let plan: FaultPlan
    private let transport: FaultTransport

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<FaultState>

    init(
        _ request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate, plan: FaultPlan,
        transport: FaultTransport
    ) {
        (self.request, self.id, self.plan, self.transport) = (request, id, plan, transport)
        box = Protected(FaultState(delegate: delegate, allowed: request.initialAllowance, fault: plan.fault))
    }

    // MARK: Control

    func resume() {
        guard box.withLock({ $0.isFirstResume() }) else { return pace() }
        guard plan.latency > .zero else { return begin() }
        let (clock, latency) = (transport.clock, plan.latency)
        // A task of its own, because a transport's caller does not wait.
        let timer = Task {
            guard (try? await clock.sleep(for: latency)) != nil else { return }
            self.begin()
        }
        if !box.withLock({ $0.keep(timer) }) { timer.cancel() }
    }

    func suspend() {
        box.withLock { $0.isSuspended = true }
        pace()
    }

    func cancel() {
        let (base, timer, events) = box.withLock { $0.cancel() }
        timer?.cancel()
        deliver(events)
        base?.cancel()
    }

    func allow(upTo position: UInt64) {
        box.withLock { state in
            state.allowed = max(state.allowed, position)
            return state.base
        }?.allow(upTo: position)
    }

    /// Sends the hop after its latency, or fails it.
    private func begin() {
        guard box.withLock({ $0.begin() }) else { return }
        if plan.fault == .refused {
            return deliver(
                box.withLock {
                    $0.fail(TransportError(.connectionRefused, "injected by FaultTransport", phase: .connecting))
                })
        }
        let base = transport.base.task(for: request, id: id, delegate: self)
        box.withLock { $0.base = base }
        base.start(granted: request.initialAllowance) { box.withLock { $0.calls } }
    }

    /// Gives the base's task the wanted pace. Another thread may change it meanwhile, so it is read again after each
    /// call.
    private func pace() {
        var wanted = false
        repeat {
            guard let (base, isPaused) = box.withLock({ state in state.base.map { ($0, state.isPaused) } }) else {
                return
            }
            wanted = isPaused
            if wanted { base.suspend() } else { base.resume() }
        } while box.withLock({ $0.isPaused }) != wanted
    }

    // MARK: Events

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        let step = box.withLock { $0.receive(event, limit: plan.bytesPerSecond, upgrades: request.upgrades) }
        deliver(step.events)
        step.timer?.cancel()
        step.cancelled?.cancel()
        guard step.startsPause else { return }
        pace()
        let clock = transport.clock
        // A task of its own: the transport's thread does not wait for the clock.
        let timer = Task {
            while let time = self.box.withLock({ $0.takePause() }) {
                guard (try? await clock.sleep(for: time)) != nil else { return }
            }
            self.pace()
        }
        if !box.withLock({ $0.keep(timer) }) { timer.cancel() }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        box.withLock { $0.delegate }?.answer(question, for: id)
    }

    private func deliver(_ events: FaultState.Delivery) {
        for event in events.events { events.delegate?.received(event, for: id) }
    }
}

/// The state of a hop with faults.
struct FaultState {
    /// Events for the delegate, in order.
    struct Delivery {
        var delegate: (any TransportDelegate)?
        var events: [TransportEvent] = []
    }

    struct Step {
        var events = Delivery()
        /// The base's task, if it has to end.
        var cancelled: (any TransportTask)?
        var timer: Task<Void, Never>?
        var startsPause = false
    }

    /// Nil after the end.
    private(set) var delegate: (any TransportDelegate)?
    var base: (any TransportTask)?
    var allowed: UInt64
    var isSuspended = false
    private var isCancelled = false
    private let fault: FaultPlan.Fault?
    private var hasResumed = false
    private var hasBegun = false
    private var hasMetrics = false
    /// The error that takes the place of the base's end.
    private var replacement: TransportError?
    private var timer: Task<Void, Never>?
    /// The time for which the body still has to pause.
    private var pause = Duration.zero
    private var isPausing = false

    init(delegate: any TransportDelegate, allowed: UInt64, fault: FaultPlan.Fault?) {
        (self.delegate, self.allowed, self.fault) = (delegate, allowed, fault)
    }

    var isPaused: Bool { isSuspended || isPausing }

    var calls: EarlyCalls { EarlyCalls(isSuspended: isPaused, isCancelled: isCancelled, allowed: allowed) }

    mutating func isFirstResume() -> Bool {
        isSuspended = false
        defer { hasResumed = true }
        return !hasResumed && !isCancelled
    }

    /// Returns whether the hop is to be sent now.
    mutating func begin() -> Bool {
        guard !hasBegun, !isCancelled, delegate != nil else { return false }
        hasBegun = true
        timer = nil
        return true
    }

    /// Returns whether the timer is still needed.
    mutating func keep(_ timer: Task<Void, Never>) -> Bool {
        guard delegate != nil, !isCancelled else { return false }
        self.timer = timer
        return true
    }

    mutating func cancel() -> ((any TransportTask)?, Task<Void, Never>?, Delivery) {
        guard delegate != nil, !isCancelled else { return (nil, nil, Delivery()) }
        isCancelled = true
        let timer = timer.take()
        return (base, timer, hasBegun ? Delivery() : fail(.cancelled))
    }

    /// Ends a hop that was not sent.
    mutating func fail(_ error: TransportError) -> Delivery {
        let events: [TransportEvent] = hasResumed ? [.metrics(TransportMetrics())] : []
        return Delivery(delegate: delegate.take(), events: events + [.completed(error)])
    }

    mutating func receive(_ event: TransportEvent, limit: Int?, upgrades: Bool) -> Step {
        var step = Step(events: Delivery(delegate: delegate))
        switch event {
        case .completed(let error):
            if !hasMetrics, hasResumed { step.events.events.append(.metrics(TransportMetrics())) }
            step.events.events.append(.completed(replacement ?? error))
            (step.timer, delegate, base) = (timer.take(), nil, nil)
        case .metrics:
            hasMetrics = true
            step.events.events = [event]
        case _ where replacement != nil: break
        case .head where fault == .lost:
            replacement = TransportError(.connectionLost, "injected by FaultTransport", phase: .waiting)
            step.cancelled = base
        case .body(let bytes) where fault == .truncated:
            if bytes.count > 1 { step.events.events = [.body(bytes.prefix(bytes.count / 2))] }
            let code: TransportError.Code = upgrades ? .connectionLost : .truncated
            replacement = TransportError(code, "injected by FaultTransport", phase: .receiving)
            step.cancelled = base
        case .body(let bytes):
            step.events.events = [event]
            guard let limit else { break }
            pause += .seconds(1) * (Double(bytes.count) / Double(limit))
            step.startsPause = !isPausing
            isPausing = true
        default: step.events.events = [event]
        }
        return step
    }

    /// Returns the time to pause; nil if the pause is over.
    mutating func takePause() -> Duration? {
        guard pause > .zero, delegate != nil else {
            isPausing = false
            return nil
        }
        defer { pause = .zero }
        return pause
    }
}
