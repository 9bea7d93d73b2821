/// A thread on which sessions write their downloads.
///
/// It is an executor, so that what must run on it belongs to an actor, and the compiler sees to it. A disk that is slow
/// delays other files, but neither a transport's thread (R2) nor those that all tasks share.
///
/// There are a few for the process, and they stay: a job may let go of the last actor that it runs for while whoever
/// enqueued it is still about it, so an executor that ended with its session could end under somebody's hands.
final class FileThread: SerialExecutor {
    static let all = (0..<4).map { _ in FileThread() }
    private static let sessions = Protected(0)

    /// The one for the next session.
    static func assigned() -> FileThread {
        let number = sessions.withLock { number in
            number += 1
            return number
        }
        return all[number % all.count]
    }

    private struct State {
        var isStarted = false
        var jobs: [UnownedJob] = []
    }

    private let box = Protected(State())
    private let bell = DispatchSemaphore(value: 0)

    private init() {}

    #if canImport(Darwin)
        func enqueue(_ job: UnownedJob) { add(job) }
    #else
        func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }
    #endif

    private func add(_ job: UnownedJob) {
        let isFirst = box.withLock { state in
            state.jobs.append(job)
            return state.isStarted.raise()
        }
        if isFirst { start() }
        bell.signal()
    }

    private func start() {
        let thread = Thread { [self] in
            while true {
                bell.wait()
                let jobs = box.withLock { state in
                    defer { state.jobs = [] }
                    return state.jobs
                }
                for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            }
        }
        thread.name = "Larkspur files"
        thread.start()
    }
}
