/// One hop in flight: the handle by which the framework controls it.
///
/// Every member may be called from any thread, at any time and any number of times, also from inside
/// `TransportDelegate.received`. No member blocks. The contract of ``Transport`` defines their races.
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
    /// Positions only grow. They are absolute and not increments, so they need no order between threads: the largest
    /// position wins.
    func allow(upTo position: UInt64)
}

/// The identifier of a task within its session. Events find their request by it.
public struct TransportTaskID: Hashable, Sendable, CustomStringConvertible {
    /// The number, unique in the session.
    public let rawValue: UInt64

    /// Creates an identifier with this number.
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public var description: String { "task \(rawValue)" }
}
