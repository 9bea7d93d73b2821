/// A hop that may be sent twice.
final class HedgedTask: TransportTask {
    // Immutable
    let id: TransportTaskID
    private let request: TransportRequest
    private let transport: HedgingTransport
    private let elapsed: @Sendable () -> Duration

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<HedgedState>

    init(
        _ request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate, transport: HedgingTransport
    ) {
        (self.id, self.request, self.transport) = (id, request, transport)
        elapsed = transport.clock.stopwatch()
        box = Protected(HedgedState(delegate: delegate, allowed: request.initialAllowance))
    }

    // MARK: Control

    func resume() {
        guard box.withLock({ $0.resume() }) else {
            for leg in box.withLock({ $0.legs }) { leg.resume() }
            return
        }
        let first = transport.base.task(for: request, id: id, delegate: HedgeLeg(self, .first))
        box.withLock { $0.first = first }
        if let delay = transport.begin(request.url.origin) { setTimer(delay) }
        start(first, .first)
    }

    private func start(_ task: any TransportTask, _ leg: HedgedState.Leg) {
        task.start(granted: request.initialAllowance) { box.withLock { $0.calls(of: leg) } }
    }

    func suspend() { for leg in box.withLock({ $0.suspend() }) { leg.suspend() } }

    func cancel() {
        let (legs, timer, delegate) = box.withLock { ($0.cancel(), $0.timer.take(), $0.endBeforeStart()) }
        timer?.cancel()
        delegate?.received(.completed(.cancelled), for: id)
        for leg in legs { leg.cancel() }
    }

    func allow(upTo position: UInt64) {
        for leg in box.withLock({ $0.allow(upTo: position) }) { leg.allow(upTo: position) }
    }

    // MARK: The second request

    private func setTimer(_ delay: Duration) {
        let start = elapsed()
        box.withLock { $0.started = start }
        let timer = DeadlineTimer(on: transport.clock, after: { delay }) { [weak self] in self?.hedge(after: delay) }
        let isKept = box.withLock { $0.keep(timer) }
        if !isKept { timer.cancel() }
    }

    private func hedge(after delay: Duration) {
        guard box.withLock({ $0.mayHedge }), let request = request.hedged(after: delay), transport.withdraw() else {
            return
        }
        let second = transport.base.task(for: request, id: id, delegate: HedgeLeg(self, .second))
        guard box.withLock({ $0.hedge(second, after: delay) }) else {
            transport.giveBack()
            return second.cancel()
        }
        start(second, .second)
    }

    // MARK: Events

    fileprivate func received(_ event: TransportEvent, from leg: HedgedState.Leg) {
        let step = box.withLock { $0.receive(event, from: leg) }
        if step.isDecided {
            let start = box.withLock { $0.started } + (leg == .second ? step.hedgedAfter ?? .zero : .zero)
            transport.record(max(.zero, elapsed() - start), request.url.origin, isHedge: leg == .second)
        }
        step.timer?.cancel()
        step.loser?.cancel()
        guard step.delivers else { return }
        while let (event, delegate) = box.withLock({ $0.nextEvent() }) { delegate.received(event, for: id) }
    }

    fileprivate func answer(_ question: TransportQuestion, from leg: HedgedState.Leg) {
        box.withLock { $0.receiver(of: leg) }?.answer(question, for: id)
    }
}

/// The receiver of one of the two requests of a hop.
private final class HedgeLeg: TransportDelegate {
    private let task: HedgedTask
    private let leg: HedgedState.Leg

    init(_ task: HedgedTask, _ leg: HedgedState.Leg) { (self.task, self.leg) = (task, leg) }

    func received(_ event: TransportEvent, for id: TransportTaskID) { task.received(event, from: leg) }
    func answer(_ question: TransportQuestion, for id: TransportTaskID) { task.answer(question, from: leg) }
}

extension TransportRequest {
    /// Returns the request to send again after a delay. Its timeouts end when those of the first request end. Returns
    /// nil if one of these has ended already.
    fileprivate func hedged(after delay: Duration) -> TransportRequest? {
        var request = self
        for limit in [\TransportTimeouts.connect, \.firstByte, \.total] {
            guard let time = timeouts[keyPath: limit] else { continue }
            guard time > delay else { return nil }
            request.timeouts[keyPath: limit] = time - delay
        }
        return request
    }
}
