import LarkspurTransport

/// The threads on which monitors are called.
///
/// They are not those that all tasks share: of these there are as many as the machine has cores, and a monitor that writes
/// to a slow disk, or does not return, would keep one from everybody. A thread is started when a mailbox has mail and all
/// others are busy; past 64, mailboxes wait for each other, and nobody else does.
enum MonitorThreads {
    private static let limit = 64
    /// More than these do not wait for further mail.
    private static let idleLimit = 2

    private struct State {
        var mailboxes: [MonitorMailbox] = []
        var threads = 0
        var idle = 0
    }

    private enum Action { case none, ring, start }

    private static let box = Protected(State())
    /// Rung for a thread that waits.
    private static let bell = DispatchSemaphore(value: 0)

    static func drain(_ mailbox: MonitorMailbox) {
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
            let (mailbox, stays) = box.withLock { state -> (MonitorMailbox?, Bool) in
                if !state.mailboxes.isEmpty { return (state.mailboxes.removeFirst(), true) }
                guard state.idle < idleLimit else {
                    state.threads -= 1
                    return (nil, false)
                }
                state.idle += 1
                return (nil, true)
            }
            if let mailbox { mailbox.run() } else if stays { bell.wait() } else { return }
        }
    }
}
