/// Where a session writes its downloads: one thing at a time, apart from the threads that all tasks share.
///
/// It is an executor, so that what must run on it belongs to an actor, and the compiler sees to it. A disk that is slow
/// delays other files, but neither a transport's thread (R2) nor other tasks.
///
/// A job may let go of the last actor that it runs for while whoever enqueued it is still about it. So each job holds the
/// executor, and a dispatch queue, unlike a lock and a list, bears being let go of while it is handed something.
final class FileQueue: SerialExecutor {
    let queue = DispatchQueue(label: "larkspur.files")

    #if canImport(Darwin)
        func enqueue(_ job: UnownedJob) { run(job) }
    #else
        func enqueue(_ job: consuming ExecutorJob) { run(UnownedJob(job)) }
    #endif

    private func run(_ job: UnownedJob) {
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
