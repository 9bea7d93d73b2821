/// A task that reads an exchange which other tasks may read, too.
final class CoalescedTask: TransportTask {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    private let key: CoalescingKey
    private let transport: CoalescingTransport

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    private struct State {
        var delegate: (any TransportDelegate)?
        var read: SharedRead?
        var seat = 0
        var isResumed = false
        /// The pace that the task wants. Its version counts also the changes that the exchange does not learn of.
        var pace: ExchangePace
        var delivered: UInt64 = 0
        /// The error with which the task's user, or the transport, has ended the task.
        var endError: TransportError?
        var hasMetrics = false
        /// Whether a thread delivers events.
        var isBusy = false
        /// Whether another thread has asked for a delivery meanwhile.
        var isAgain = false
    }

    init(
        _ request: TransportRequest, _ key: CoalescingKey, id: TransportTaskID, delegate: any TransportDelegate,
        transport: CoalescingTransport
    ) {
        (self.id, self.request, self.key, self.transport) = (id, request, key, transport)
        box = Protected(
            State(
                delegate: delegate, pace: ExchangePace(isSuspended: true, allowed: request.initialAllowance)))
    }

    // MARK: Control

    func resume() {
        let isFirst = box.withLock { state in
            state.pace.isSuspended = false
            return state.delegate != nil && state.isResumed.setOnce()
        }
        guard isFirst else { return changePace() }
        guard let (read, seat, isNew) = transport.join(self, key) else {
            return end(with: TransportError(.invalidated))
        }
        let hasEnded = box.withLock { state in
            (state.read, state.seat) = (read, seat)
            return state.delegate == nil || state.endError != nil
        }
        if hasEnded {
            transport.forget(self)
            read.leave(seat)
        }
        if isNew { read.start() }
        changePace()
    }

    func suspend() {
        let hasBegun = box.withLock { state in
            if state.isResumed { state.pace.isSuspended = true }
            return state.isResumed
        }
        if hasBegun { changePace() }
    }

    func allow(upTo position: UInt64) {
        box.withLock { $0.pace.allowed = max($0.pace.allowed, position) }
        changePace()
    }

    func cancel() { end(with: .cancelled) }

    func end(with error: TransportError) {
        box.withLock { $0.endError = $0.endError ?? error }
        pump()
    }

    private func changePace() {
        let (read, seat, pace) = box.withLock { state in
            state.pace.version += 1
            return (state.read, state.seat, state.pace)
        }
        read?.set(pace, of: seat)
        pump()
    }

    // MARK: Delivering

    func answer(_ question: TransportQuestion) { box.withLock { $0.delegate }?.answer(question, for: id) }

    /// Delivers events as far as the task's pace allows. Only one thread at a time delivers.
    func pump() {
        let begins = box.withLock { state in
            state.isAgain = true
            return state.isBusy.setOnce()
        }
        guard begins else { return }
        while true {
            while let (event, delegate) = nextEvent() {
                delegate.received(event, for: id)
                if case .completed = event { leave() }
            }
            let isOver = box.withLock { state in
                if !state.isAgain { state.isBusy = false }
                defer { state.isAgain = false }
                return !state.isAgain
            }
            if isOver { return }
        }
    }

    private func leave() {
        transport.forget(self)
        if let (read, seat) = box.withLock({ state in state.read.map { ($0, state.seat) } }) { read.leave(seat) }
        _ = box.withLock { $0.read.take() }
    }

    private func nextEvent() -> (TransportEvent, any TransportDelegate)? {
        let (read, seat, mayRead, bodyIsAllowed) = box.withLock { state in
            state.isAgain = false
            let mayRead = state.endError == nil && !state.pace.isSuspended && state.delegate != nil
            return (state.read, state.seat, mayRead, state.delivered < state.pace.allowed)
        }
        let failure = read?.failure
        let event = mayRead ? read?.next(seat, bodyIsAllowed: bodyIsAllowed) : nil
        return box.withLock { state -> (TransportEvent, any TransportDelegate)? in
            guard let delegate = state.delegate else { return nil }
            if let event {
                switch event {
                case .body(let bytes): state.delivered += UInt64(bytes.count)
                case .metrics: state.hasMetrics = true
                case .completed: state.delegate = nil
                case .admission, .waitsForNetwork, .information, .cache, .head, .trailers, .bodySent: break
                }
                return (event, delegate)
            }
            // A failure also ends a task that is suspended.
            guard let error = state.endError ?? (state.pace.isSuspended ? failure : nil) else { return nil }
            if state.isResumed, state.hasMetrics.setOnce() {
                var metrics = TransportMetrics()
                (metrics.total, metrics.responseBodyBytes) = (.zero, state.delivered)
                return (.metrics(metrics), delegate)
            }
            state.delegate = nil
            return (.completed(error), delegate)
        }
    }
}
