/// The threads on which monitors are called.
///
/// They are not those that all tasks share: of these there are as many as the machine has cores, and a monitor that writes
/// to a slow disk, or does not return, would keep one from everybody. A thread is started when a mailbox has mail and all
/// others are busy; past 64, mailboxes wait for each other, and nobody else does.
///
/// The end of the process waits for what is to be told by then, a second at most: else a program that ends with its last
/// request would seldom log it.
enum MonitorThreads {
    private static let limit = 64
    /// More than these do not wait for further mail.
    private static let idleLimit = 2

    private struct State {
        var mailboxes: [MonitorMailbox] = []
        var threads = 0
        var idle = 0
        /// The process waits for its end.
        var isEnding = false

        var isBusy: Bool { threads > idle || !mailboxes.isEmpty }
    }

    private enum Action { case none, ring, start }

    private static let box = Protected(State())
    /// Rung for a thread that waits.
    private static let bell = DispatchSemaphore(value: 0)

    /// Rung when nothing is left to tell, for the end of the process.
    private static let done = DispatchSemaphore(value: 0)
    private static let atEnd: Int32 = atexit {
        let isBusy = box.withLock { state in
            state.isEnding = true
            return state.isBusy
        }
        if isBusy { _ = done.wait(timeout: .now() + 1) }
    }

    static func drain(_ mailbox: MonitorMailbox) {
        _ = atEnd
        let action = box.withLock { state -> Action in
            state.mailboxes.append(mailbox)
            if state.idle > 0 {
                state.idle -= 1
                return .ring
            }
            guard state.threads < limit else { return .none }
            state.threads += 1
            return .start
        }
        switch action {
        case .none: break
        case .ring: bell.signal()
        case .start:
            let thread = Thread { work() }
            thread.name = "Larkspur events"
            thread.start()
        }
    }

    private static func work() {
        while true {
            let (mailbox, stays, isLast) = box.withLock { state -> (MonitorMailbox?, Bool, Bool) in
                if !state.mailboxes.isEmpty { return (state.mailboxes.removeFirst(), true, false) }
                let stays = state.idle < idleLimit
                if stays { state.idle += 1 } else { state.threads -= 1 }
                return (nil, stays, state.isEnding && !state.isBusy)
            }
            if isLast { done.signal() }
            if let mailbox { mailbox.run() } else if stays { bell.wait() } else { return }
        }
    }
}
