import Dispatch

/// A queue of the timers on the system's clocks. The timers share one timer of the system, which fires when the
/// earliest timer is due.
///
/// A sleeping task for each timer would need more memory: the runtime keeps a cancelled sleep until its time has
/// passed. Adding a timer and removing a timer each take O(log n).
package final class TimerQueue: Sendable {
    package typealias ID = TimerHeap<Action, ContinuousClock.Instant>.ID
    package typealias Action = @Sendable () -> Void

    package static let shared = TimerQueue()

    private struct State {
        let timer: any DispatchSourceTimer
        var heap = TimerHeap<Action, ContinuousClock.Instant>()
        /// The time when the system's timer fires; nil if that timer is not set.
        var wakeTime: ContinuousClock.Instant?

        /// Sets the system's timer. Call this function under the queue's lock: otherwise a slower thread could
        /// overwrite a newer time with an older time.
        mutating func wake(at time: ContinuousClock.Instant?, now: ContinuousClock.Instant) {
            wakeTime = time
            let deadline = time.map { TimerQueue.deadline(in: now.duration(to: $0)) }
            timer.schedule(deadline: deadline ?? .distantFuture, leeway: .nanoseconds(0))
        }
    }

    /// The longest time for which the system's timer is set. That timer may stop while the system sleeps, so the queue
    /// reads the continuous clock at least this often.
    private static let longestWait = Duration.seconds(10)

    private let box: Protected<State>
    /// The clock that a test moves forward; nil for the system's clock.
    private let clock: EngineClock?

    package init(clock: EngineClock? = nil) {
        self.clock = clock
        let queue = DispatchQueue(label: "Larkspur timers")
        box = Protected(State(timer: DispatchSource.makeTimerSource(flags: .strict, queue: queue)))
        box.withLock { state in
            state.timer.setEventHandler { [weak self] in self?.fire() }
            state.timer.activate()
        }
        clock?.onAdvance { [weak self] in self?.fire() }
    }

    deinit { box.withLock { $0.timer.cancel() } }

    /// The time that the timers are measured with.
    package var now: ContinuousClock.Instant {
        guard let clock else { return .now }
        return .now.advanced(by: .nanoseconds(clock.lead))
    }

    /// The number of timers that have not fired yet.
    package var count: Int { box.withLock { $0.heap.count } }

    /// Starts a timer that calls the closure on a task of its own after the delay.
    package func add(after delay: Duration, _ act: @escaping Action) -> ID {
        let now = now
        let time = now.advanced(by: delay)
        return box.withLock { state in
            if state.wakeTime.map({ time < $0 }) ?? true { state.wake(at: time, now: now) }
            return state.heap.insert(act, at: time)
        }
    }

    /// Removes a timer that has not fired. The system's timer is not changed here: if that timer fires too early,
    /// `fire()` sets it again.
    package func remove(_ id: ID) {
        _ = box.withLock { $0.heap.remove(id) }  // the closure is released after unlocking
    }

    private func fire() {
        let now = now
        let due = box.withLock { state in
            var due: [Action] = []
            while let action = state.heap.removeFirst(until: now) { due.append(action) }
            state.wake(at: state.heap.firstTime, now: now)
            return due
        }
        // Each closure runs in an unstructured task. A closure may run the user's cancellation handler, which may
        // block, and must not delay the other timers.
        for action in due { Task { action() } }
    }

    private static func deadline(in duration: Duration) -> DispatchTime {
        let left = min(max(duration, .zero), longestWait)
        return .now() + .nanoseconds(Int((left / .nanoseconds(1)).rounded(.up)))
    }
}
