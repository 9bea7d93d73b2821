/// The tasks that other threads post to the loop, and whether the loop sleeps. One lock guards both, so the loop
/// never sleeps while a task is posted.
struct CurlInbox {
    enum Life { case unborn, running, stopping, ended }

    private var life = Life.unborn
    private var isAsleep = false
    private var posted: [CurlTask] = []
    /// The error of tasks that are submitted after the end.
    var reason = TransportError(.invalidated, "the transport was invalidated; make another one for new requests")

    // MARK: Any thread

    enum Answer { case taken(isFirst: Bool), begins, refused(TransportError) }

    /// Adds a new task. If it is the first while the loop sleeps, the caller must take the loop's turn or wake the
    /// loop.
    mutating func submit(_ task: CurlTask) -> Answer {
        switch life {
        case .unborn:
            life = .running
            posted.append(task)
            return .begins
        case .running:
            posted.append(task)
            return .taken(isFirst: wake())
        case .stopping, .ended: return .refused(reason)
        }
    }

    /// Adds a task with new orders. Returns true if the caller must wake the loop.
    mutating func post(_ task: CurlTask) -> Bool {
        guard life != .ended else { return false }
        posted.append(task)
        return wake()
    }

    /// Makes the loop end. Returns true if the caller must wake it.
    mutating func stop() -> Bool {
        switch life {
        case .unborn: life = .ended
        case .running: life = .stopping
        case .stopping, .ended: break
        }
        return wake()
    }

    private mutating func wake() -> Bool {
        defer { isAsleep = false }
        return isAsleep
    }

    // MARK: The thread that has the turn

    /// Moves the posted tasks to `tasks`. Returns nil after the end, or if the turn is lent and the tasks need the
    /// loop's own thread.
    mutating func take(into tasks: inout [CurlTask], isLent: Bool) -> Life? {
        isAsleep = false
        guard life != .ended, !isLent || posted.allSatisfy(\.isPrompt) else { return nil }
        swap(&posted, &tasks)
        return life
    }

    /// Marks the loop as asleep. Returns false if there is something to do.
    mutating func fallAsleep() -> Bool {
        isAsleep = posted.isEmpty && life == .running
        return isAsleep
    }

    /// Ends the inbox and returns the tasks that are still posted.
    mutating func end() -> [CurlTask] {
        life = .ended
        defer { posted = [] }
        return posted
    }
}
