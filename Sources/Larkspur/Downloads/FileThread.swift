/// The thread on which a session writes its downloads: one for each session, started by the first of them.
///
/// It is an executor, so that what must run on it belongs to an actor, and the compiler sees to it. A disk that is slow
/// delays other files, but neither a transport's thread (R2) nor those that all tasks share.
final class FileThread: SerialExecutor {
    private enum Life { case unstarted, started }

    private struct State {
        var life = Life.unstarted
        var jobs: [UnownedJob] = []
    }

    private let box = Protected(State())
    /// Rung for every job, and for the end.
    private let bell = DispatchSemaphore(value: 0)

    deinit { bell.signal() }

    #if canImport(Darwin)
        func enqueue(_ job: UnownedJob) { add(job) }
    #else
        func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }
    #endif

    private func add(_ job: UnownedJob) {
        let life = box.withLock { state in
            state.jobs.append(job)
            defer { state.life = .started }
            return state.life
        }
        if life == .unstarted { start() }
        bell.signal()
    }

    /// The thread holds the executor only while it works, so that it ends with it.
    private func start() {
        let thread = Thread { [weak self, bell] in
            while true {
                bell.wait()
                guard let self else { return }
                self.work()
            }
        }
        thread.name = "Larkspur files"
        thread.start()
    }

    private func work() {
        let jobs = box.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}
