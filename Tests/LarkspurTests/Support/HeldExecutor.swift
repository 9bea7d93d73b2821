import Dispatch

@testable import Larkspur

#if os(Linux)
    /// Runs the tasks that prefer it when the test says so.
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

        /// Runs, here, what waits and what that adds.
        func runWhatIsThere() {
            while let job = held.withLock({ $0?.isEmpty == false ? $0?.removeFirst() : nil }) {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }

        /// Holds nothing from now on.
        func letGo() { for job in held.withLock({ $0.take() }) ?? [] { pass(on: job) } }

        private func pass(on job: UnownedJob) {
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
#endif
