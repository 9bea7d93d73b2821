import Dispatch

/// The threads on which monitors are called.
///
/// These threads are separate from the pool of Swift tasks, because that pool has only one thread per core. A monitor
/// that writes to a slow disk, or does not return, would block a thread of the pool. A thread is started when a queue
/// has events and all other threads are busy. There are at most 64 threads; further queues then wait for a free thread.
/// Requests never wait.
///
/// At the end of the process, an exit handler waits up to one second for undelivered events. Without this wait, a
/// program that ends with its last request would seldom log that request.
enum MonitorThreads {
    private static let limit = 64
    /// The maximum number of idle threads that wait for further events. Any other thread without work ends.
    private static let idleLimit = 2

    private struct State {
        var queues: [MonitorQueue] = []
        var threads = 0
        var idle = 0
        /// Whether the process is ending.
        var isEnding = false

        var isBusy: Bool { threads > idle || !queues.isEmpty }
    }

    /// The microseconds that a thread waits for further events.
    ///
    /// A wake of a thread costs more than the delivery of an event. Under load, events arrive one by one, and a thread
    /// that slept after each of them would be woken for the next.
    private static let pause: UInt32 = 300

    private enum Action { case none, wake, start }

    private static let box = Protected(State())
    /// Signalled to wake an idle thread.
    private static let wakeUp = DispatchSemaphore(value: 0)

    /// Signalled when the process is ending and no events are left.
    private static let done = DispatchSemaphore(value: 0)
    private static let atEnd: Int32 = atexit {
        let isBusy = box.withLock { state in
            state.isEnding = true
            return state.isBusy
        }
        if isBusy { _ = done.wait(timeout: .now() + 1) }
    }

    static func drain(_ queue: MonitorQueue) {
        _ = atEnd
        let action = box.withLock { state -> Action in
            state.queues.append(queue)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < limit else { return .none }
            state.threads += 1
            return .start
        }
        switch action {
        case .none: break
        case .wake: wakeUp.signal()
        case .start:
            SystemThread.start("Larkspur events") { work() }
        }
    }

    /// Called by a thread that has delivered a few events. Waits a moment, so that the next delivery has more events,
    /// unless the threads are needed for other queues.
    static func gatherEvents() {
        let isQuiet = box.withLock { $0.queues.isEmpty && $0.threads - $0.idle <= idleLimit && !$0.isEnding }
        if isQuiet { SystemThread.pause(microseconds: pause) }
    }

    private static func work() {
        while true {
            let (queue, stays, isLast) = box.withLock { state -> (MonitorQueue?, Bool, Bool) in
                if !state.queues.isEmpty { return (state.queues.removeFirst(), true, false) }
                let stays = state.idle < idleLimit
                if stays { state.idle += 1 } else { state.threads -= 1 }
                return (nil, stays, state.isEnding && !state.isBusy)
            }
            if isLast { done.signal() }
            if let queue { queue.run() } else if stays { wakeUp.wait() } else { return }
        }
    }
}
