/// The handle of one hop. Its functions only store orders in `box` and tell the loop, which carries the orders out.
final class CurlTask: TransportTask {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    let transport: CurlTransport

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    private struct State {
        enum Phase { case created, submitted, ended }

        var phase = Phase.created
        var delegate: (any TransportDelegate)?
        var isSuspended = false
        var allowance: UInt64
        /// Whether the loop has paused the response's body and must be woken when the body may continue.
        var isHeld = false
        var hasWoken = false
        var end: TransportError?
        /// The loop that performs the hop; nil until that loop has looked at the task. Until then, orders are only
        /// stored.
        var loop: Int?
        /// Whether the task is posted to the loop, which has not read the orders yet.
        var isPosted = false
        /// Whether the peer has sent something since a caller last wrote to the upgraded connection. If so, the caller
        /// of the next message probably waits for an answer, and writes it itself. Messages in a row are left to the
        /// loop's thread, which writes many at a time.
        var isCallersTurn = true
        var progress = Progress.new
        var submitted = CurlClock.zero
        /// Memory for the fields of the response's head. The thread that makes the task allocates this memory, because
        /// the same thread usually releases it.
        var room: [UInt8] = []

        /// Marks the task as posted. Returns the loop to which the caller has to post the task; nil if the task is
        /// posted already, or no loop has looked at it yet.
        mutating func post() -> Int? {
            guard let loop, !isPosted else { return nil }
            isPosted = true
            return loop
        }

        /// Marks the task as ended and returns its delegate. The caller informs the delegate of the end after
        /// unlocking.
        mutating func finish() -> (any TransportDelegate)? {
            phase = .ended
            return delegate.take()
        }
    }

    /// The progress of the task: new, waiting for a connection slot, or in a loop.
    enum Progress { case new, waiting(CurlOrigins.Wait), running(CurlTransfer.Slot), open(CurlTunnel.Slot) }

    init(id: TransportTaskID, request: TransportRequest, delegate: any TransportDelegate, transport: CurlTransport) {
        self.id = id
        self.request = request
        self.transport = transport
        let room = [UInt8](unsafeUninitializedCapacity: 256) { _, _ in }
        box = Protected(State(delegate: delegate, allowance: request.initialAllowance, room: room))
    }

    /// Whether the request can be sent without reading a file or a stream. The body of an upgraded connection is read
    /// only after the upgrade, and neither blocks nor runs user code.
    var isPrompt: Bool {
        if request.upgrades { return true }
        return switch request.body {
        case .none, .data: true
        case .file, .stream: false
        }
    }

    // MARK: Any thread

    func resume() {
        enum Action { case none, start, post(Int) }
        let now = transport.shared.now
        let action = box.withLock { state -> Action in
            switch state.phase {
            case .created:
                state.phase = .submitted
                state.submitted = now
                state.isSuspended = false
                return .start
            case .submitted:
                state.isSuspended = false
                return state.post().map { .post($0) } ?? .none
            case .ended: return .none
            }
        }
        switch action {
        case .none: break
        case .post(let loop): transport.loops[loop].post(self)
        case .start: transport.start(self)
        }
    }

    func suspend() { order { $0.isSuspended = true } }

    /// Raises the allowance. If the body is not paused, the loop is not woken, because the loop reads the allowance
    /// again before the next buffer.
    func allow(upTo position: UInt64) {
        let loop = box.withLock { state -> Int? in
            state.allowance = max(state.allowance, position)
            return state.phase == .submitted && state.isHeld ? state.post() : nil
        }
        if let loop { transport.loops[loop].post(self) }
    }

    func cancel() {
        let delegate = box.withLock { state -> (any TransportDelegate)? in
            guard state.phase == .created else { return nil }
            return state.finish()
        }
        if let delegate { return delegate.received(.completed(.cancelled), for: id) }
        order { $0.end = $0.end ?? .cancelled }
        endWaiting()
    }

    private func order(_ change: (inout State) -> Void) {
        let (loop, isCallersTurn) = box.withLock { state -> (Int?, Bool) in
            guard state.phase != .ended else { return (nil, false) }
            change(&state)
            guard state.phase == .submitted, let loop = state.post() else { return (nil, false) }
            defer { state.isCallersTurn = false }
            return (loop, state.isCallersTurn)
        }
        if let loop { transport.loops[loop].post(self, mayTakeTurn: request.upgrades && isCallersTurn) }
    }

    /// Records that the task waits for a connection slot. Does nothing if a loop has looked at the task already.
    func didWait(_ wait: CurlOrigins.Wait) {
        box.withLock { state in
            if state.loop == nil { state.progress = .waiting(wait) }
        }
        endWaiting()
    }

    /// Ends the task if it waits for a connection slot and was ordered to end. No loop knows such a task.
    private func endWaiting() {
        let ended = box.withLock { state -> (any TransportDelegate, TransportError, CurlOrigins.Wait)? in
            guard state.phase == .submitted, case .waiting(let wait) = state.progress, let error = state.end else {
                return nil
            }
            return state.finish().map { ($0, error, wait) }
        }
        guard let (delegate, error, wait) = ended else { return }
        _ = transport.shared.origins.withLock { $0.withdraw(wait) }
        delegate.received(.metrics(TransportMetrics()), for: id)
        delegate.received(.completed(error), for: id)
    }

    // MARK: The thread that has the turn

    struct Orders {
        var progress: Progress
        var end: TransportError?
        var hasWoken: Bool
        var isSuspended: Bool
    }

    /// Returns the orders that the loop must carry out now; nil if the task has ended. From the first call on, orders
    /// are posted to this loop.
    func takeOrders(in loop: Int) -> Orders? {
        box.withLock { state in
            state.isPosted = false
            state.loop = loop
            guard state.phase == .submitted else { return nil }
            defer { state.hasWoken = false }
            return Orders(
                progress: state.progress, end: state.end, hasWoken: state.hasWoken, isSuspended: state.isSuspended)
        }
    }

    var isSuspended: Bool { box.withLock { $0.isSuspended } }

    struct Start {
        var delegate: any TransportDelegate
        var submitted: CurlClock.Instant
        var room: [UInt8]
    }

    /// Records the progress of the task. Returns the values with which a hop starts; nil if the task has ended.
    func record(_ progress: Progress) -> Start? {
        box.withLock { state in
            state.progress = progress
            defer { state.room = [] }
            return state.delegate.map { Start(delegate: $0, submitted: state.submitted, room: state.room) }
        }
    }

    enum Flow { case deliver(upTo: UInt64), pause, stop }

    /// Returns whether the loop delivers a buffer of the body that begins at this position, pauses the body or stops
    /// the hop. A suspended task and a used-up allowance pause the body (T15, T16, T18 in `Transport`).
    func flow(at position: UInt64) -> Flow {
        box.withLock { state in
            if state.end != nil { return .stop }
            state.isHeld = state.isSuspended || position >= state.allowance
            state.isCallersTurn = true
            return state.isHeld ? .pause : .deliver(upTo: state.allowance)
        }
    }

    /// Ends the task and delivers its last events. If the hop has succeeded, but `cancel()` was called before this
    /// call, the task ends with the error of the cancellation.
    func end(_ error: TransportError?, metrics: @autoclosure () -> TransportMetrics) {
        let (delegate, ordered) = box.withLock { state -> ((any TransportDelegate)?, TransportError?) in
            (state.phase == .ended ? nil : state.finish(), state.end)
        }
        guard let delegate else { return }
        delegate.received(.metrics(metrics()), for: id)
        delegate.received(.completed(error ?? ordered), for: id)
    }

    /// The closure that a streamed body calls when it has more bytes. The closure does not retain the task.
    var wake: @Sendable () -> Void {
        { [weak self] in self?.order { $0.hasWoken = true } }
    }
}
