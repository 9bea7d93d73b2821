#if canImport(Darwin)
    typealias SharedProgress = Progress
#elseif Foundation
    /// A thread-safe `Progress`. On Apple's platforms `Progress` itself is thread-safe. On other platforms `Progress`
    /// has no lock, so this subclass adds one.
    ///
    /// The conformance is unchecked (rule R6 in Concurrency.md), because the superclass declares `@unchecked Sendable`.
    /// The lock of this subclass makes that declaration true.
    final class SharedProgress: Progress, @unchecked Sendable {
        /// A recursive lock, because the members of the superclass call each other.
        private let lock = NSRecursiveLock()

        override var totalUnitCount: Int64 {
            get { lock.withLock { super.totalUnitCount } }
            set { lock.withLock { super.totalUnitCount = newValue } }
        }

        override var completedUnitCount: Int64 {
            get { lock.withLock { super.completedUnitCount } }
            set { lock.withLock { super.completedUnitCount = newValue } }
        }

        override var isIndeterminate: Bool { lock.withLock { super.isIndeterminate } }
        override var isFinished: Bool { lock.withLock { super.isFinished } }
        override var userInfo: [ProgressUserInfoKey: Any] { lock.withLock { super.userInfo } }

        override func setUserInfoObject(_ object: Any?, forKey key: ProgressUserInfoKey) {
            lock.withLock { super.setUserInfoObject(object, forKey: key) }
        }
    }
#endif
