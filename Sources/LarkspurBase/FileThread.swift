internal import CLarkspur
import Dispatch

/// A thread on which sessions, cookie jars and caches use files.
///
/// The thread is a serial executor, so actors can be bound to it and the compiler checks the isolation. It also runs
/// closures. A slow disk delays only the other files of the same thread. It does not delay the transport's thread,
/// which must not block (rule R2 in Concurrency.md), and it does not delay the threads of Swift's task pool.
///
/// The process has four file threads, which never end and are never released. Otherwise a job could release the last
/// actor of a thread, and with it the executor, while the code that enqueued the job still uses the executor.
package final class FileThread: SerialExecutor {
    package static let all = (0..<4).map { FileThread(number: $0 + 1) }
    private static let sessions = Protected(0)

    /// Returns the thread for the next session or cookie jar. The four threads are assigned in turn.
    package static func assigned() -> FileThread {
        let number = sessions.withLock { number in
            number += 1
            return number
        }
        return all[number % all.count]
    }

    /// Returns the thread for a key. Within the process, all work on the same key has the same thread, in order.
    package static func assigned(to key: String) -> FileThread { all[Int(UInt(bitPattern: key.hashValue) % 4)] }

    /// Whether the current thread is a file thread.
    package static var isCurrent: Bool { ThreadMarks.fileThread != 0 }

    private enum Job {
        case task(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct State {
        var isStarted = false
        var jobs: [Job] = []
    }

    private let number: Int
    private let box = Protected(State())
    private let jobsAvailable = DispatchSemaphore(value: 0)

    private init(number: Int) { self.number = number }

    /// Whether this is the current thread.
    package var isCurrent: Bool { ThreadMarks.fileThread == number }

    /// Runs the closure on the thread, after all work that was added before.
    package func perform(_ work: @escaping @Sendable () -> Void) { add(.closure(work)) }

    #if canImport(Darwin)
        package func enqueue(_ job: UnownedJob) { add(.task(job)) }
    #else
        package func enqueue(_ job: consuming ExecutorJob) { add(.task(UnownedJob(job))) }
    #endif

    /// The standard library's own implementation needs macOS 14 or iOS 17.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    private func add(_ job: Job) {
        let isFirst = box.withLock { state in
            state.jobs.append(job)
            return state.isStarted.setOnce()
        }
        if isFirst { start() }
        jobsAvailable.signal()
    }

    private func start() {
        let starts = clarkspur_thread_start(
            "Larkspur files",
            { context in
                guard let context else { return }
                Unmanaged<FileThread>.fromOpaque(context).takeUnretainedValue().run()
            }, Unmanaged.passUnretained(self).toOpaque())
        // Without resources for a thread of its own, it takes one of the system's pool.
        if !starts { DispatchQueue(label: "Larkspur files").async { [self] in run() } }
    }

    private func run() {
        ThreadMarks.fileThread = number
        while true {
            jobsAvailable.wait()
            var jobs = box.withLock { state in
                defer { state.jobs = [] }
                return state.jobs
            }
            // Each closure is released when it has run, and with it what it holds, such as files.
            jobs.reverse()
            while let job = jobs.popLast() {
                switch job {
                case .task(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let work): work()
                }
            }
        }
    }
}
