#if canImport(Darwin)
    typealias SharedProgress = Progress
#else
    /// Foundation's value, for several threads: on Apple's platforms it is, elsewhere nothing in it is protected.
    ///
    /// Unchecked (R6), because it restates what its superclass claims, and makes it true.
    final class SharedProgress: Progress, @unchecked Sendable {
        /// Recursive, because the members of the superclass use each other.
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
