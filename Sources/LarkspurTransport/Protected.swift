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
/// see into it, reports races that are none. Both stand in one piece of memory, allocated once, that stays where it is as long
/// as the box: a lock's address must not change, and that of a class's property may, by an exclusive access.
///
/// Code inside `withLock` runs no user code, does no I/O and takes no second lock (R1); in debug builds
/// `ThreadMarks.lockDepth` lets a test see that it does not.
///
/// Public so that `withLock` is compiled into its callers (an inlinable `package` function is not, and unspecialised it
/// costs more than the lock itself); nothing in the public API takes or gives one.
@_documentation(visibility: internal)
public struct Protected<Value: ~Copyable>: @unchecked Sendable {  // R6: every access to the value holds the lock
    #if canImport(Darwin)
        @usableFromInline typealias SystemLock = os_unfair_lock_s
    #else
        @usableFromInline typealias SystemLock = pthread_mutex_t
    #endif

    /// The lock; in debug builds also how often it was taken, so that a test can limit the locks of a request.
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
    public init(_ value: consuming sending Value) {
        // A lock that is all zeros is a free one, on each of these systems.
        memory = Memory.create(minimumCapacity: 1) { _ in Lock() }
        memory.withUnsafeMutablePointerToElements { $0 }.initialize(to: value)
        withExtendedLifetime(memory) {}
    }

    /// Runs `body` with exclusive access to the value.
    ///
    /// What it returns ends after unlocking, the parts that nobody has a use for too: so values can be given out to be let
    /// go of there (R1).
    @inlinable
    public func withLock<R, E: Error>(
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
        // The optimiser would let go of what is not used as soon as it is there.
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
        /// How often the lock was taken, except by this property.
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
