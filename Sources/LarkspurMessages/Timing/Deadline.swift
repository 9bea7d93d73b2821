/// The timeout of an attempt or of a whole request, both of which can have several hops.
package final class Deadline: Sendable {
    package enum Scope: String, Sendable { case attempt, total }

    /// Makes the caller stop waiting for the user's code and throw this error.
    private typealias Interruption = @Sendable (any Error) -> Void

    private enum Status {
        case running(timer: DeadlineTimer?, interruption: Interruption?)
        case passed
        case stopped
        /// The deadline was replaced by another deadline, or removed. Work that started under the old deadline
        /// continues under the new one, or without a deadline.
        case replaced(by: Deadline?)
    }

    // Immutable
    package let scope: Scope
    package let limit: Duration
    private let clock: any Clock<Duration>
    fileprivate let elapsed: @Sendable () -> Duration

    // Mutable state, guarded by the lock of `Protected`
    private let status = Protected(Status.running(timer: nil, interruption: nil))

    /// Creates a deadline.
    ///
    /// - Parameter earlier: An earlier deadline, from whose start time the new deadline is measured.
    package init(_ scope: Scope, _ limit: Duration, on clock: any Clock<Duration>, replacing earlier: Deadline? = nil) {
        self.scope = scope
        self.limit = limit
        self.clock = clock
        elapsed = earlier?.elapsed ?? clock.stopwatch()
    }

    /// Creates a deadline that continues a paused one.
    package init(continuing paused: PausedDeadline) {
        let pause = paused.deadline.elapsed() - paused.elapsed
        (scope, limit, clock) = (paused.deadline.scope, paused.deadline.limit, paused.deadline.clock)
        elapsed = { [elapsed = paused.deadline.elapsed] in elapsed() - pause }
    }

    package var timeLeft: Duration { max(.zero, limit - elapsed()) }

    /// Whether the timeout has passed or is about to pass.
    ///
    /// A transport gets the remaining time and may measure it from a slightly earlier moment. The transport can
    /// therefore end a hop shortly before the timeout passes on this clock. Such an end is also attributed to this
    /// deadline.
    package var isDue: Bool { timeLeft < max(.milliseconds(2), min(.milliseconds(20), limit / 16)) }

    package var hasPassed: Bool {
        status.withLock { if case .passed = $0 { true } else { false } }
    }

    package var error: RequestError {
        RequestError(.timedOut, "the \(scope.rawValue) timeout of \(limit.readable) has passed")
    }

    /// Calls the closure when the timeout passes, unless the deadline was stopped or replaced before.
    package func start(_ act: @escaping @Sendable () -> Void) {
        let timer = DeadlineTimer(on: clock, after: { self.timeLeft }) { [self] in
            // A suspending clock stops while the system sleeps, but the clock of the timer queue continues. So time may
            // be left on the suspending clock; then start another timer.
            if clock is SuspendingClock, timeLeft > .zero { return start(act) }
            guard let interruption = pass() else { return }
            interruption(error)
            act()
        }
        let isRunning = status.withLock { status in
            guard case .running(_, let interruption) = status else { return false }
            status = .running(timer: timer, interruption: interruption)
            return true
        }
        if !isRunning { timer.cancel() }
    }

    /// Marks the deadline as passed and returns the interruption, which does nothing if no work runs. Returns nil if
    /// the deadline was stopped or replaced.
    private func pass() -> Interruption? {
        status.withLock { status in
            guard case .running(_, let interruption) = status else { return nil }
            status = .passed
            return interruption ?? { _ in }
        }
    }

    /// Stops the deadline and interrupts the work that runs under it, because the caller no longer needs that work.
    package func stop() {
        let before = status.withLock { status in
            defer { status = .stopped }
            return status
        }
        guard case .running(let timer, let interruption) = before else { return }
        timer?.cancel()
        interruption?(error)
    }

    /// Stops the deadline without interrupting the work that runs under it. The work continues under the next deadline,
    /// if there is one. If the next deadline has already ended, the work is interrupted.
    package func retire(for next: Deadline?) {
        let (timer, late) = status.withLock { status -> (DeadlineTimer?, Interruption?) in
            guard case .running(let timer, let interruption) = status else { return (nil, nil) }
            status = .replaced(by: next)
            guard let next, let interruption, !next.take(interruption) else { return (timer, nil) }
            return (timer, interruption)
        }
        timer?.cancel()
        late?(next?.error ?? error)
    }

    /// Runs the user's code and waits for it at most until the timeout passes. When the timeout passes, the code is
    /// cancelled, and the caller continues without waiting for it. Only one call at a time is allowed.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let interruptible = InterruptibleWork<Value>()
        let result = await suspended { waiter in
            interruptible.begin(work, for: waiter)
            setInterruption(interruptible.abandon)
        } onCancel: {
            interruptible.abandon(CancellationError())
        }
        setInterruption(nil)
        return try result.get()
    }

    /// Sets the interruption. Calls it at once if the deadline has already passed or was stopped.
    private func setInterruption(_ interruption: Interruption?) {
        if !take(interruption) { interruption?(error) }
    }

    /// Stores the interruption in this deadline, or in the deadline that has replaced it. Returns false if that
    /// deadline has passed or was stopped. The lock of an older deadline is held while a newer one is locked, and never
    /// the reverse, so threads cannot deadlock.
    private func take(_ interruption: Interruption?) -> Bool {
        status.withLock { status in
            switch status {
            case .running(let timer, _):
                status = .running(timer: timer, interruption: interruption)
                return true
            case .replaced(let next): return next?.take(interruption) ?? true
            case .passed, .stopped: return false
            }
        }
    }
}

/// A deadline whose time stands still.
package struct PausedDeadline: Sendable {
    package let deadline: Deadline
    /// The time that had passed at the pause.
    fileprivate let elapsed: Duration

    package init(_ deadline: Deadline) { (self.deadline, elapsed) = (deadline, deadline.elapsed()) }

    package var timeLeft: Duration { max(.zero, deadline.limit - elapsed) }
}

/// The user's code while it runs, and the caller that waits for it.
private final class InterruptibleWork<Value: Sendable>: Sendable {
    typealias Waiter = Continuation<Result<Value, any Error>>

    private let box = Protected<(waiter: Waiter?, task: Task<Void, Never>?)>((nil, nil))

    func begin(_ work: @escaping @Sendable () async throws -> Value, for waiter: Waiter) {
        box.withLock { $0.waiter = waiter }
        // The task is unstructured, because the caller would have to wait for a child task even after the timeout.
        let task = Task {
            do { answer(.success(try await work())) } catch { answer(.failure(error)) }
        }
        box.withLock { $0.task = task }
    }

    /// Resumes the waiting caller with the error, and cancels the code.
    func abandon(_ error: any Error) {
        answer(.failure(error))
        box.withLock { $0.task }?.cancel()
    }

    private func answer(_ result: Result<Value, any Error>) {
        let waiter = box.withLock { $0.waiter.take() }
        waiter?.resume(returning: result)
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a closure that returns the time since `stopwatch()` was called.
    package func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
