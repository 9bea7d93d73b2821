#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A lock and the one value that it guards.
///
/// It is what `Protected` is for the modules with package access, and is public because annexes have no such access.
/// They import this module for themselves only, so users do not see it. `Synchronization.Mutex` needs macOS 15, and the
/// thread sanitizer cannot see into it. Lock and value share one heap allocation, so that the address of the lock never
/// changes.
///
/// Code inside `withLock` runs no user code, does no I/O and takes no second lock (rule R1 in Concurrency.md).
public struct Guarded<Value>: @unchecked Sendable {  // rule R6: every access to the value holds the lock
    #if canImport(Darwin)
        @usableFromInline typealias SystemLock = os_unfair_lock_s
    #else
        @usableFromInline typealias SystemLock = pthread_mutex_t
    #endif

    @usableFromInline final class Memory: ManagedBuffer<SystemLock, Value> {
        @inlinable
        deinit {
            withUnsafeMutablePointers { lock, value in
                #if !canImport(Darwin)
                    pthread_mutex_destroy(lock)
                #endif
                _ = value.deinitialize(count: 1)
            }
        }
    }

    @usableFromInline let memory: ManagedBuffer<SystemLock, Value>

    /// Creates a lock around a value.
    @inlinable public init(_ value: sending Value) {
        // On each of these systems, a lock whose bytes are all zero is unlocked. It needs no further initialisation.
        memory = Memory.create(minimumCapacity: 1) { _ in SystemLock() }
        memory.withUnsafeMutablePointerToElements { $0.initialize(to: value) }
    }

    /// Runs `body` with exclusive access to the value. The result is released after unlocking.
    @inlinable public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let (lock, value) = memory.withUnsafeMutablePointers { ($0, $1) }
        defer { withExtendedLifetime(memory) {} }
        Self.take(lock)
        defer { Self.leave(lock) }
        return try body(&value.pointee)
    }

    @inlinable static func take(_ lock: UnsafeMutablePointer<SystemLock>) {
        #if canImport(Darwin)
            os_unfair_lock_lock(lock)
        #else
            pthread_mutex_lock(lock)
        #endif
    }

    @inlinable static func leave(_ lock: UnsafeMutablePointer<SystemLock>) {
        #if canImport(Darwin)
            os_unfair_lock_unlock(lock)
        #else
            pthread_mutex_unlock(lock)
        #endif
    }
}
