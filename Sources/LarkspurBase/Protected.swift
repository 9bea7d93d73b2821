#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A lock and the one value that it guards.
///
/// It is the only lock of the modules with package access. `Synchronization.Mutex` is not used because the thread
/// sanitizer cannot see into it and reports races that do not exist. Lock and value share one heap allocation, so that
/// the address of the lock never changes. A lock that is a stored property of a class could get another address during
/// an exclusive access.
///
/// Code inside `withLock` runs no user code, does no I/O and takes no second lock (rule R1 in Concurrency.md). In debug
/// builds, tests check these rules with `ThreadMarks.lockDepth`.
///
/// The type is `@usableFromInline`. Without this attribute the compiler does not inline `package` functions into the
/// other modules of the package, and a call that is not specialised costs more than the lock itself.
@usableFromInline
package struct Protected<Value: ~Copyable>: @unchecked Sendable {  // rule R6: every access to the value holds the lock
    #if canImport(Darwin)
        @usableFromInline typealias SystemLock = os_unfair_lock_s
    #else
        @usableFromInline typealias SystemLock = pthread_mutex_t
    #endif

    /// The lock. In debug builds, `count` is the number of times that the lock was taken, so that a test can limit how
    /// often a request takes locks.
    @usableFromInline struct Lock {
        @usableFromInline var system = SystemLock()
        #if DEBUG
            @usableFromInline var count = 0
        #endif

        @inlinable init() {}
    }

    @usableFromInline final class Memory: ManagedBuffer<Lock, Value> {
        @inlinable
        deinit {
            withUnsafeMutablePointers { lock, value in
                #if !canImport(Darwin)
                    pthread_mutex_destroy(&lock.pointee.system)
                #endif
                _ = value.deinitialize(count: 1)
            }
        }
    }

    @usableFromInline let memory: ManagedBuffer<Lock, Value>

    @inlinable
    package init(_ value: consuming sending Value) {
        // On each of these systems, a lock whose bytes are all zero is unlocked. It needs no further initialisation.
        memory = Memory.create(minimumCapacity: 1) { _ in Lock() }
        memory.withUnsafeMutablePointerToElements { $0 }.initialize(to: value)
        withExtendedLifetime(memory) {}
    }

    /// Runs `body` with exclusive access to the value.
    ///
    /// The result is released after unlocking, including parts that the caller does not use. If releasing a value may
    /// run other code, such as a `deinit`, return the value from `body`. That code then runs without the lock (rule
    /// R1).
    @inlinable
    package func withLock<R, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
        let (lock, value) = memory.withUnsafeMutablePointers { ($0, $1) }
        defer { withExtendedLifetime(memory) {} }
        Self.take(lock)
        let result: R
        do throws(E) {
            result = try body(&value.pointee)
        } catch {
            Self.leave(lock)
            throw error
        }
        Self.leave(lock)
        // Without this line the optimiser releases an unused result before the unlock.
        withExtendedLifetime(result) {}
        return result
    }

    @inlinable
    static func take(_ lock: UnsafeMutablePointer<Lock>) {
        #if canImport(Darwin)
            os_unfair_lock_lock(&lock.pointee.system)
        #else
            pthread_mutex_lock(&lock.pointee.system)
        #endif
        ThreadMarks.didLock()
        #if DEBUG
            lock.pointee.count += 1
        #endif
    }

    @inlinable
    static func leave(_ lock: UnsafeMutablePointer<Lock>) {
        ThreadMarks.willUnlock()
        #if canImport(Darwin)
            os_unfair_lock_unlock(&lock.pointee.system)
        #else
            pthread_mutex_unlock(&lock.pointee.system)
        #endif
    }
}

#if DEBUG
    extension Protected where Value: ~Copyable {
        /// The number of times that the lock was taken. Accesses of this property are not counted.
        package var lockCount: Int {
            memory.withUnsafeMutablePointerToHeader { lock in
                Self.take(lock)
                defer { Self.leave(lock) }
                lock.pointee.count -= 1
                return lock.pointee.count
            }
        }
    }
#endif
