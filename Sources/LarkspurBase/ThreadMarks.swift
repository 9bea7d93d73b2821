#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The state of the current thread, in thread-specific storage.
///
/// The two depths are counted only in debug builds. With them, tests check two rules in Concurrency.md: no user code
/// runs under a lock (R1) or on a transport's thread (R2). No code of the library depends on the depths.
@usableFromInline
package enum ThreadMarks {
    /// The number of `Protected` boxes that the current thread holds.
    package static var lockDepth: Int {
        get { read(lockKey) }
        set { write(newValue, lockKey) }
    }

    /// The number of transport events that the current thread is delivering.
    package static var transportDepth: Int {
        get { read(transportKey) }
        set { write(newValue, transportKey) }
    }

    /// Whether the thread is running the first steps of a request's pipeline.
    package static var isStarting: Bool {
        get { read(startKey) != 0 }
        set { write(newValue ? 1 : 0, startKey) }
    }

    /// The number of the file thread, from one; zero on other threads.
    static var fileThread: Int {
        get { read(fileKey) }
        set { write(newValue, fileKey) }
    }

    #if DEBUG
        @usableFromInline static func didLock() { lockDepth += 1 }
        @usableFromInline static func willUnlock() { lockDepth -= 1 }
    #else
        @inlinable static func didLock() {}
        @inlinable static func willUnlock() {}
    #endif

    private static let lockKey = makeKey()
    private static let transportKey = makeKey()
    private static let startKey = makeKey()
    private static let fileKey = makeKey()

    private static func makeKey() -> pthread_key_t {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, nil)
        precondition(status == 0, "no thread-specific key is left in this process")
        return key
    }

    private static func read(_ key: pthread_key_t) -> Int {
        Int(bitPattern: pthread_getspecific(key))
    }

    private static func write(_ value: Int, _ key: pthread_key_t) {
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: value))
    }
}
