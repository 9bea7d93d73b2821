#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The protected mutable box: a lock and the one value it guards.
///
/// It is the only lock in the code base. `Synchronization.Mutex` is not used because the thread sanitizer, which cannot
/// see into it, reports races that are none. The lock has memory of its own: its address must not change, and a stored
/// property's may be moved by an exclusive access.
///
/// Code inside `withLock` runs no user code, does no I/O and takes no second lock (R1); in debug builds
/// `ThreadMarks.lockDepth` lets a test see that it does not.
///
/// Public so that `withLock` is compiled into its callers (an inlinable `package` function is not, and unspecialised it
/// costs more than the lock itself); nothing in the public API takes or gives one.
@_documentation(visibility: internal)
public final class Protected<Value: ~Copyable>: @unchecked Sendable {  // R6: every access to the value holds the lock
    #if canImport(Darwin)
        @usableFromInline typealias Lock = os_unfair_lock_s
    #else
        @usableFromInline typealias Lock = pthread_mutex_t
    #endif

    @usableFromInline let lock: UnsafeMutablePointer<Lock>
    /// No two accesses overlap while each holds the lock: there is nothing to check.
    @exclusivity(unchecked) @usableFromInline var value: Value

    @inlinable
    public init(_ value: consuming sending Value) {
        self.value = value
        lock = .allocate(capacity: 1)
        lock.initialize(to: Lock())
        #if !canImport(Darwin)
            pthread_mutex_init(lock, nil)
        #endif
    }

    @inlinable
    deinit {
        #if !canImport(Darwin)
            pthread_mutex_destroy(lock)
        #endif
        lock.deallocate()
    }

    /// Runs `body` with exclusive access to the value.
    @inlinable
    public func withLock<R, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
        #if canImport(Darwin)
            os_unfair_lock_lock(lock)
        #else
            pthread_mutex_lock(lock)
        #endif
        ThreadMarks.didLock()
        defer {
            ThreadMarks.willUnlock()
            #if canImport(Darwin)
                os_unfair_lock_unlock(lock)
            #else
                pthread_mutex_unlock(lock)
            #endif
        }
        return try body(&value)
    }
}
