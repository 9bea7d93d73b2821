/// A thread on which sessions and cookie jars write their files.
///
/// The thread is a serial executor, so actors can be bound to it and the compiler checks the isolation. A slow disk
/// delays only the other files of the same thread. It does not delay the transport's thread, which must not block (rule
/// R2 in Concurrency.md), and it does not delay the threads of Swift's task pool.
///
/// The process has four file threads, which never end and are never released. Otherwise a job could release the last
/// actor of a thread, and with it the executor, while the code that enqueued the job still uses the executor.
final class FileThread: SerialExecutor {
    static let all = (0..<4).map { _ in FileThread() }
    private static let sessions = Protected(0)

    /// Returns the thread for the next session or cookie jar. The four threads are assigned in turn.
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
    private let jobsAvailable = DispatchSemaphore(value: 0)

    private init() {}

    #if canImport(Darwin)
        func enqueue(_ job: UnownedJob) { add(job) }
    #else
        func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }
    #endif

    /// The standard library's own implementation needs macOS 14 or iOS 17.
    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    private func add(_ job: UnownedJob) {
        let isFirst = box.withLock { state in
            state.jobs.append(job)
            return state.isStarted.setOnce()
        }
        if isFirst { start() }
        jobsAvailable.signal()
    }

    private func start() {
        let thread = Thread { [self] in
            while true {
                jobsAvailable.wait()
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
