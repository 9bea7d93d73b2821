/// Calls a closure once, on a task of its own, when a time by a clock is over, unless it is cancelled before.
enum DeadlineTimer: Sendable {
    /// The closure waits in the process's queue.
    case queued(TimerQueue.ID)
    /// A task sleeps on a clock that is not the system's: only the clock knows when its time is over.
    case sleeping(Task<Void, Never>)

    /// - Parameter delay: How long the timer waits; a task that sleeps asks for it when it begins.
    init(
        on clock: any Clock<Duration>, after delay: @escaping @Sendable () -> Duration,
        _ act: @escaping @Sendable () -> Void
    ) {
        if clock is ContinuousClock || clock is SuspendingClock {
            self = .queued(TimerQueue.shared.add(after: delay(), act))
        } else {
            // Unstructured, one for each timer: nothing else waits for its end.
            self = .sleeping(
                Task {
                    do { try await clock.sleep(for: delay()) } catch { return }
                    if !Task.isCancelled { act() }
                })
        }
    }

    /// Releases the closure, which is no longer called unless that has begun.
    func cancel() {
        switch self {
        case .queued(let id): TimerQueue.shared.remove(id)
        case .sleeping(let task): task.cancel()
        }
    }
}

/// The timers of the system's clocks, in a heap, behind one timer of the system.
///
/// A task that sleeps on such a clock for each of them would cost more: after its cancel the runtime keeps its sleep until
/// the time is over. Adding and removing take time in proportion to the logarithm of the number of timers.
final class TimerQueue: Sendable {
    typealias ID = TimerHeap<Action>.ID
    typealias Action = @Sendable () -> Void

    static let shared = TimerQueue()

    private struct State {
        let timer: any DispatchSourceTimer
        var heap = TimerHeap<Action>()
        /// When the system's timer is to fire; nil if it need not.
        var wakeTime: ContinuousClock.Instant?

        /// Sets the system's timer. Under the lock, or of two threads the slower one would set it to an older time.
        mutating func wake(at time: ContinuousClock.Instant?) {
            wakeTime = time
            timer.schedule(deadline: time.map(TimerQueue.deadline) ?? .distantFuture, leeway: .nanoseconds(0))
        }
    }

    /// The system's timer may stand still while the system sleeps. So the clock is read at least this often.
    private static let longestWait = Duration.seconds(10)

    private let box: Protected<State>

    init() {
        let queue = DispatchQueue(label: "Larkspur timers")
        box = Protected(State(timer: DispatchSource.makeTimerSource(flags: .strict, queue: queue)))
        box.withLock { state in
            state.timer.setEventHandler { [weak self] in self?.fire() }
            state.timer.activate()
        }
    }

    deinit { box.withLock { $0.timer.cancel() } }

    /// How many timers wait.
    var count: Int { box.withLock { $0.heap.count } }

    /// Calls the closure on a task of its own when the delay is over.
    func add(after delay: Duration, _ act: @escaping Action) -> ID {
        let time = ContinuousClock.now.advanced(by: delay)
        return box.withLock { state in
            if state.wakeTime.map({ time < $0 }) ?? true { state.wake(at: time) }
            return state.heap.insert(act, at: time)
        }
    }

    /// Removes a timer that has not fired. The system's timer is left as it is: if it fires too early it is set again.
    func remove(_ id: ID) {
        _ = box.withLock { $0.heap.remove(id) }  // the closure is released after unlocking
    }

    private func fire() {
        let now = ContinuousClock.now
        let due = box.withLock { state in
            var due: [Action] = []
            while let action = state.heap.removeFirst(until: now) { due.append(action) }
            state.wake(at: state.heap.firstTime)
            return due
        }
        // Unstructured, one for each timer that fires: a closure may run a user's cancellation handler, which may block.
        for action in due { Task { action() } }
    }

    private static func deadline(_ time: ContinuousClock.Instant) -> DispatchTime {
        let left = min(max(ContinuousClock.now.duration(to: time), .zero), longestWait)
        return .now() + .nanoseconds(Int((left / .nanoseconds(1)).rounded(.up)))
    }
}
