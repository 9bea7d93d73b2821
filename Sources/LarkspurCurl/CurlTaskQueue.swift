/// The tasks that other threads post to the loop, and whether the loop sleeps. One lock guards both, so the loop never
/// falls asleep while the queue has a task.
struct CurlTaskQueue {
    enum Lifecycle { case notStarted, running, stopping, ended }

    private var lifecycle = Lifecycle.notStarted
    private var isAsleep = false
    private var posted: [Entry] = []
    /// The error of tasks that are submitted after the loop was told to end.
    var reason = Self.invalidated

    static let invalidated = TransportError(
        .invalidated, "the transport was invalidated; make another one for new requests")

    /// A task that the loop must look at. `place` is not nil if the task starts.
    struct Entry {
        let task: CurlTask
        var place: CurlOrigins.Place?
    }

    // MARK: Any thread

    enum Answer { case taken(isFirst: Bool), begins, refused(TransportError) }

    /// Adds a new task. If the task is the first since the loop fell asleep, the caller must take the loop's turn or
    /// wake the loop.
    mutating func submit(_ start: CurlOrigins.Start) -> Answer {
        switch lifecycle {
        case .notStarted:
            lifecycle = .running
            posted.append(Entry(task: start.task, place: start.place))
            return .begins
        case .running:
            posted.append(Entry(task: start.task, place: start.place))
            return .taken(isFirst: wake())
        case .stopping, .ended: return .refused(reason)
        }
    }

    /// Adds a task with new orders. Returns true if the caller must wake the loop.
    mutating func post(_ task: CurlTask) -> Bool {
        guard lifecycle != .ended else { return false }
        posted.append(Entry(task: task))
        return wake()
    }

    /// Makes the loop end. Returns true if the caller must wake the loop.
    mutating func stop() -> Bool {
        switch lifecycle {
        case .notStarted: lifecycle = .ended
        case .running: lifecycle = .stopping
        case .stopping, .ended: break
        }
        return wake()
    }

    /// Lets the next task begin the loop again, because the loop could not be started. Returns the tasks that were
    /// posted meanwhile, the first one included.
    mutating func restart() -> [Entry] {
        lifecycle = lifecycle == .running ? .notStarted : .ended
        defer { posted = [] }
        return posted
    }

    private mutating func wake() -> Bool {
        defer { isAsleep = false }
        return isAsleep
    }

    // MARK: The thread that has the turn

    /// Moves the posted tasks to `entries`. Returns nil if the loop has ended. Also returns nil if the turn is lent to
    /// another thread, but a task needs the loop's own thread.
    mutating func take(into entries: inout [Entry], isLent: Bool) -> Lifecycle? {
        isAsleep = false
        guard lifecycle != .ended, !isLent || posted.allSatisfy(\.task.isPrompt) else { return nil }
        swap(&posted, &entries)
        return lifecycle
    }

    /// Marks the loop as asleep and returns true. If a task is posted or the loop must end, returns false instead.
    mutating func fallAsleep() -> Bool {
        isAsleep = posted.isEmpty && lifecycle == .running
        return isAsleep
    }

    /// Ends the queue and returns the tasks that are still posted.
    mutating func end() -> [Entry] {
        lifecycle = .ended
        defer { posted = [] }
        return posted
    }
}
