/// What other threads have for the loop, and whether it sleeps: under one lock, so nothing posted is slept on.
struct CurlInbox {
    enum Life { case unborn, running, stopping, ended }

    private var life = Life.unborn
    private var isAsleep = false
    private var posted: [CurlTask] = []
    /// What tasks are answered with after the end.
    var reason = TransportError(.invalidated, "the transport was invalidated; make another one for new requests")

    // MARK: Any thread

    enum Answer { case taken(isFirst: Bool), begins, refused(TransportError) }

    /// Takes up a new task. Who is the first while the loop sleeps has to see to it that somebody works.
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

    /// Takes up a task's orders; true for the one who has to wake the loop.
    mutating func post(_ task: CurlTask) -> Bool {
        guard life != .ended else { return false }
        posted.append(task)
        return wake()
    }

    /// Has the loop end; true for the one who has to wake it.
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

    // MARK: Whose turn it is in the loop

    /// Hands over what was posted; nil after the end, or if the turn is lent and the loop's own thread has to look at it.
    mutating func take(into tasks: inout [CurlTask], isLent: Bool) -> Life? {
        isAsleep = false
        guard life != .ended, !isLent || posted.allSatisfy(\.isPrompt) else { return nil }
        swap(&posted, &tasks)
        return life
    }

    /// False if there is something to do.
    mutating func fallAsleep() -> Bool {
        isAsleep = posted.isEmpty && life == .running
        return isAsleep
    }

    /// What has yet to be answered.
    mutating func end() -> [CurlTask] {
        life = .ended
        defer { posted = [] }
        return posted
    }
}
