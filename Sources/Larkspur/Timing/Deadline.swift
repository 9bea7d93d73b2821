/// A limit that spans hops while it runs: how much of it is left, and what it cuts short when it passes.
final class Deadline: Sendable {
    enum Scope: String, Sendable { case attempt, total }

    /// Ends the wait for a piece of somebody's code, with this error.
    private typealias Cut = @Sendable (any Error) -> Void

    private enum Status {
        case running(timer: DeadlineTimer?, cut: Cut?)
        case passed
        case stopped
        /// Another one, or none, is in its place: what began under this one goes on under that.
        case replaced(by: Deadline?)
    }

    // Immutable
    let scope: Scope
    let limit: Duration
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration

    // Guarded by the box
    private let status = Protected(Status.running(timer: nil, cut: nil))

    /// - Parameter earlier: One whose beginning this one takes over.
    init(_ scope: Scope, _ limit: Duration, on clock: any Clock<Duration>, replacing earlier: Deadline? = nil) {
        self.scope = scope
        self.limit = limit
        self.clock = clock
        elapsed = earlier?.elapsed ?? clock.stopwatch()
    }

    var timeLeft: Duration { max(.zero, limit - elapsed()) }

    /// Whether the limit has passed, or is about to pass.
    ///
    /// A transport is given the time that is left, and may measure it from a moment a little earlier than this clock does.
    /// So it can end a hop before the limit passes here.
    var isDue: Bool { timeLeft < max(.milliseconds(2), min(.milliseconds(20), limit / 16)) }

    var hasPassed: Bool {
        status.withLock { if case .passed = $0 { true } else { false } }
    }

    var error: RequestError {
        RequestError(.timedOut, "the \(scope.rawValue) timeout of \(limit) has passed")
    }

    /// Calls the closure when the time is over, unless it is stopped before.
    func start(_ act: @escaping @Sendable () -> Void) {
        let timer = DeadlineTimer(on: clock, after: { self.timeLeft }) { [self] in
            // This clock stands still while the system sleeps, and the queue's does not.
            if clock is SuspendingClock, timeLeft > .zero { return start(act) }
            guard let cut = pass() else { return }
            cut(error)
            act()
        }
        let isRunning = status.withLock { status in
            guard case .running(_, let cut) = status else { return false }
            status = .running(timer: timer, cut: cut)
            return true
        }
        if !isRunning { timer.cancel() }
    }

    /// What is to be cut short; nil if it was stopped.
    private func pass() -> Cut? {
        status.withLock { status in
            guard case .running(_, let cut) = status else { return nil }
            status = .passed
            return cut ?? { _ in }
        }
    }

    /// Ends the watch, and the wait for what runs under it: whoever stops it wants nothing of that any more.
    func stop() {
        let before = status.withLock { status in
            defer { status = .stopped }
            return status
        }
        guard case .running(let timer, let cut) = before else { return }
        timer?.cancel()
        cut?(error)
    }

    /// Ends the watch, and has what runs under it go on: under the next one, if there is one.
    func retire(for next: Deadline?) {
        let (timer, late) = status.withLock { status -> (DeadlineTimer?, Cut?) in
            guard case .running(let timer, let cut) = status else { return (nil, nil) }
            status = .replaced(by: next)
            guard let next, let cut, !next.take(cut) else { return (timer, nil) }
            return (timer, cut)
        }
        timer?.cancel()
        late?(next?.error ?? error)
    }

    /// Runs somebody's code, one piece at a time, and waits for it only until the limit passes: it is cancelled then, and
    /// left behind if it does not listen.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let piece = Piece<Value>()
        let result = await suspended { waiter in
            piece.begin(work, for: waiter)
            setCut(piece.leave)
        } onCancel: {
            piece.leave(CancellationError())
        }
        setCut(nil)
        return try result.get()
    }

    /// Sets what is cut short; calls it if the limit has passed already.
    private func setCut(_ cut: Cut?) {
        if !take(cut) { cut?(error) }
    }

    /// False if it is too late for it. Those that take each other's place are locked in the order of their beginnings.
    private func take(_ cut: Cut?) -> Bool {
        status.withLock { status in
            switch status {
            case .running(let timer, _):
                status = .running(timer: timer, cut: cut)
                return true
            case .replaced(let next): return next?.take(cut) ?? true
            case .passed, .stopped: return false
            }
        }
    }
}

/// Somebody's code while it runs, and who waits for it.
private final class Piece<Value: Sendable>: Sendable {
    typealias Waiter = Suspension<Result<Value, any Error>>

    private let box = Protected<(waiter: Waiter?, task: Task<Void, Never>?)>((nil, nil))

    func begin(_ work: @escaping @Sendable () async throws -> Value, for waiter: Waiter) {
        box.withLock { $0.waiter = waiter }
        // Unstructured, one for each piece: a child would have to be waited for.
        let task = Task {
            do { answer(.success(try await work())) } catch { answer(.failure(error)) }
        }
        box.withLock { $0.task = task }
    }

    /// Cancels it, and waits no more.
    func leave(_ error: any Error) {
        answer(.failure(error))
        box.withLock { $0.task }?.cancel()
    }

    private func answer(_ result: Result<Value, any Error>) {
        let waiter = box.withLock { $0.waiter.take() }
        waiter?.resume(returning: result)
    }
}

extension Clock where Duration == Swift.Duration {
    /// A function that says how long ago this was.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
