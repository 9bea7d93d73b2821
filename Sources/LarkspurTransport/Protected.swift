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
/// see into it, reports races that are none. The lock lives on the heap: its address must not change, and a stored
/// property's may be moved by an exclusive access.
///
/// Code inside `withLock` runs no user code, does no I/O and takes no second lock (R1); in debug builds
/// `ThreadMarks.lockDepth` lets a test see that it does not.
package final class Protected<Value>: @unchecked Sendable {  // R6: every access to `value` holds the lock
    #if canImport(Darwin)
        @usableFromInline package typealias Lock = os_unfair_lock_s
    #else
        @usableFromInline package typealias Lock = pthread_mutex_t
    #endif

    @usableFromInline let lock: UnsafeMutablePointer<Lock>
    @usableFromInline var value: Value

    @inlinable
    package init(_ value: sending Value) {
        self.value = value
        lock = .allocate(capacity: 1)
        #if canImport(Darwin)
            lock.initialize(to: Lock())
        #else
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
    package func withLock<R, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
        #if canImport(Darwin)
            os_unfair_lock_lock(lock)
        #else
            pthread_mutex_lock(lock)
        #endif
        #if DEBUG
            ThreadMarks.lockDepth += 1
        #endif
        defer {
            #if DEBUG
                ThreadMarks.lockDepth -= 1
            #endif
            #if canImport(Darwin)
                os_unfair_lock_unlock(lock)
            #else
                pthread_mutex_unlock(lock)
            #endif
        }
        return try body(&value)
    }
}
