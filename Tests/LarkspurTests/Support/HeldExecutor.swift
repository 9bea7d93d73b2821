import Dispatch
import Larkspur

@testable import LarkspurCore

#if os(Linux)
    /// An executor that runs its tasks when the test calls it.
    final class HeldExecutor: TaskExecutor {
        private let held = Protected<[UnownedJob]?>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isHeld = held.withLock { jobs in
                jobs?.append(job)
                return jobs != nil
            }
            if !isHeld { pass(on: job) }
        }

        /// Runs, on the current thread, the waiting jobs and the jobs that these add.
        func runWhatIsThere() {
            while let job = held.withLock({ $0?.isEmpty == false ? $0?.removeFirst() : nil }) {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }

        /// Runs all later jobs at once.
        func letGo() { for job in held.withLock({ $0.take() }) ?? [] { pass(on: job) } }

        private func pass(on job: UnownedJob) {
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
#endif
