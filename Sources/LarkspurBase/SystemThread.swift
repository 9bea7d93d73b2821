internal import CLarkspur
import Dispatch

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread of the system, for work that may block.
package enum SystemThread {
    /// Runs the closure on a new thread, which ends when the closure returns. Debuggers show the first 15 characters of
    /// the name.
    package static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Work(work)).toOpaque()
        let starts = clarkspur_thread_start(
            name,
            { context in
                guard let context else { return }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().perform()
            }, context)
        guard !starts else { return }
        Unmanaged<Work>.fromOpaque(context).release()
        // If the system has no resources for a new thread, a thread of the system's pool runs the closure.
        DispatchQueue(label: name).async(execute: work)
    }

    /// Blocks the current thread for a short time. Never called on a thread of the pool of Swift tasks.
    package static func pause(microseconds: UInt32) { usleep(microseconds) }

    private final class Work: Sendable {
        let perform: @Sendable () -> Void

        init(_ perform: @escaping @Sendable () -> Void) { self.perform = perform }
    }
}
