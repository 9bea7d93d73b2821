/// A connection of an event stream. Releasing it cancels its request.
final class EventConnection {
    private let reader: StreamReader
    var request: DataStreamRequest { reader.request }
    private let idleTimer: IdleTimer?

    init(_ request: DataStreamRequest, _ idleTimer: IdleTimer?) {
        reader = StreamReader(request, automaticallyCancelling: true)
        self.idleTimer = idleTimer
    }

    deinit { idleTimer?.stop() }

    func next() async throws -> Data? {
        idleTimer?.setAwaiting(true)
        defer { idleTimer?.setAwaiting(false) }
        return try await reader.next()
    }
}

/// A timer that cancels a request whose response has begun, if no bytes arrive within the timeout. The timer counts
/// only the time for which the reader waits for bytes.
final class IdleTimer: Sendable {
    private enum Timer { case unset, set(Task<Void, Never>), stopped }

    private struct State {
        var timer = Timer.unset
        /// Returns the time for which the reader has waited for bytes; nil while the reader does not wait.
        var silence: (@Sendable () -> Duration)?
    }

    // Immutable
    private let timeout: Duration
    private let clock: any Clock<Duration>

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    init(_ timeout: Duration, on clock: any Clock<Duration>) {
        self.timeout = timeout
        self.clock = clock
    }

    func setAwaiting(_ isAwaiting: Bool) {
        let silence = isAwaiting ? clock.stopwatch() : nil
        box.withLock { $0.silence = silence }
    }

    /// Starts the timer when the response has begun. The task is unstructured, because the reader's own task waits for
    /// bytes.
    func start(for request: DataStreamRequest) {
        setAwaiting(true)
        let timer = Task { [weak request] in
            while case let left = timeLeft(), left > .zero {
                guard (try? await clock.sleep(for: left)) != nil else { return }
            }
            guard let request else { return }
            let silence = RequestError(
                .timedOut, "the event stream received nothing within its idle timeout of \(timeout.readable)")
            let error = RequestError(wrapping: silence, as: .timedOut, stage: .sending)
            request.handle.core.cancel(error)
        }
        let useless = box.withLock { state in
            guard case .unset = state.timer else { return true }
            state.timer = .set(timer)
            return false
        }
        if useless { timer.cancel() }
    }

    private func timeLeft() -> Duration { timeout - (box.withLock { $0.silence }?() ?? .zero) }

    func stop() {
        let timer = box.withLock { state in
            defer { state.timer = .stopped }
            return state.timer
        }
        if case .set(let task) = timer { task.cancel() }
    }
}
