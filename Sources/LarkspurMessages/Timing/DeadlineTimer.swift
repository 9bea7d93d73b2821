/// A timer that calls a closure once, on a task of its own.
package enum DeadlineTimer: Sendable {
    /// The timer waits in `TimerQueue.shared`, the queue of the process.
    case queued(TimerQueue.ID)
    /// A task sleeps on a clock that is not the system's, because only that clock knows when the time has passed.
    case sleeping(Task<Void, Never>)

    /// Starts a timer.
    ///
    /// - Parameter delay: Returns the delay. For a clock that is not the system's, this closure is called when the
    ///   sleeping task starts.
    package init(
        on clock: any Clock<Duration>, after delay: @escaping @Sendable () -> Duration,
        _ act: @escaping @Sendable () -> Void
    ) {
        if clock is ContinuousClock || clock is SuspendingClock {
            self = .queued(TimerQueue.shared.add(after: delay(), act))
        } else {
            // The task is unstructured, because no task waits for its end.
            self = .sleeping(
                Task {
                    do { try await clock.sleep(for: delay()) } catch { return }
                    if !Task.isCancelled { act() }
                })
        }
    }

    /// Cancels the timer and releases the closure, unless the closure has already started.
    package func cancel() {
        switch self {
        case .queued(let id): TimerQueue.shared.remove(id)
        case .sleeping(let task): task.cancel()
        }
    }
}
