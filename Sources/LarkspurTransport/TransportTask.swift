/// The handle by which the framework controls one hop.
///
/// Every member may be called from any thread, at any time and any number of times, also from inside
/// `TransportDelegate.received`. No member blocks. The contract of ``Transport`` defines the result if calls race.
public protocol TransportTask: AnyObject, Sendable {
    /// The identifier that the framework gave the task.
    var id: TransportTaskID { get }

    /// Starts the hop, or continues it after `suspend()`.
    func resume()

    /// Stops the flow of bytes until `resume()`; the connection stays open.
    func suspend()

    /// Cancels the hop. `.completed(.cancelled)` follows, unless the hop has already ended.
    func cancel()

    /// Allows the body to be delivered up to this absolute position.
    ///
    /// The allowed position never falls. It is absolute and not an increment, so calls from several threads need no
    /// order: the largest position applies.
    func allow(upTo position: UInt64)
}

/// The identifier of a task within its session. Each event carries the identifier, by which the session finds the
/// event's request.
public struct TransportTaskID: Hashable, Sendable, CustomStringConvertible {
    /// The number, unique in the session.
    public let rawValue: UInt64

    /// Creates an identifier with this number.
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public var description: String { "task \(rawValue)" }
}

/// The calls that a task got before it had a task of its base, which has to learn of them.
package struct EarlyCalls: Sendable {
    package var isSuspended: Bool
    package var isCancelled: Bool
    /// The position up to which the body may be delivered.
    package var allowed: UInt64

    package init(isSuspended: Bool, isCancelled: Bool, allowed: UInt64) {
        (self.isSuspended, self.isCancelled, self.allowed) = (isSuspended, isCancelled, allowed)
    }
}

extension TransportTask {
    /// Resumes a new task and repeats earlier calls. Calls may come meanwhile, so they are read again after each step.
    ///
    /// - Parameter granted: The allowance of the task's request.
    package func start(granted: UInt64, repeating calls: () -> EarlyCalls) {
        resume()
        follow { calls().isSuspended }
        if case let allowed = calls().allowed, allowed > granted { allow(upTo: allowed) }
        if calls().isCancelled { cancel() }
    }

    /// Suspends and resumes a task that was just resumed, until it has the wanted pace. Another thread may change the
    /// wanted pace meanwhile, so it is read again after each call.
    package func follow(isSuspended: () -> Bool) {
        var isPaused = false
        while case let wanted = isSuspended(), wanted != isPaused {
            if wanted { suspend() } else { resume() }
            isPaused = wanted
        }
    }
}
