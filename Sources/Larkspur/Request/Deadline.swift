import LarkspurTransport

/// A limit that spans hops while it runs: how much of it is left, and what it cuts short when it passes.
final class Deadline: Sendable {
    /// What it limits.
    enum Scope: String, Sendable { case attempt, total }

    private enum Status {
        case running(timer: Task<Void, Never>?, cut: (@Sendable () -> Void)?)
        case passed
        case stopped
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

    /// Whether it has passed by the clock, or will before anybody could notice: a transport's clock is as fine as this.
    var isDue: Bool { timeLeft < .milliseconds(2) }

    var hasPassed: Bool {
        status.withLock { if case .passed = $0 { true } else { false } }
    }

    /// What is told of a request that took longer.
    var error: RequestError {
        RequestError(.timedOut, "the \(scope.rawValue) timeout of \(limit) has passed")
    }

    /// Calls the closure when the time is over, unless it is stopped before.
    ///
    /// Unstructured, one for each limit that runs: the pipeline's task may be held up in code that does not listen.
    func start(_ act: @escaping @Sendable () -> Void) {
        let timer = Task {
            do { try await clock.sleep(for: timeLeft) } catch { return }
            guard !Task.isCancelled, let cut = pass() else { return }
            cut()
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
    private func pass() -> (@Sendable () -> Void)? {
        status.withLock { status in
            guard case .running(_, let cut) = status else { return nil }
            status = .passed
            return cut ?? {}
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
        cut?()
    }

    /// Runs somebody's code, one piece at a time, and waits for it only until the limit passes: it is cancelled then, and
    /// left behind if it does not listen.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let waiting = Protected<Suspension<Result<Value, any Error>>?>(nil)
        let answer: @Sendable (Result<Value, any Error>) -> Void = { result in
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: result)
        }
        let result: Result<Value, any Error> = await suspended { continuation in
            waiting.withLock { $0 = continuation }
            // Unstructured, one for each piece: a child would have to be waited for.
            let task = Task {
                do { answer(.success(try await work())) } catch { answer(.failure(error)) }
            }
            setCut {
                answer(.failure(self.error))
                task.cancel()
            }
        }
        setCut(nil)
        return try result.get()
    }

    /// Sets what is cut short; calls it if the limit has passed already.
    private func setCut(_ cut: (@Sendable () -> Void)?) {
        let isLate = status.withLock { status in
            guard case .running(let timer, _) = status else { return true }
            status = .running(timer: timer, cut: cut)
            return false
        }
        if isLate { cut?() }
    }
}

extension Clock where Duration == Swift.Duration {
    /// A function that says how long ago this was.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
