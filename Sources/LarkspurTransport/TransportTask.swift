/// One hop under way: the handle by which the framework steers it.
///
/// Every member may be called from any thread, at any time and any number of times, also from inside
/// `TransportDelegate.received`. None of them blocks. What each does in which race is said in `Transport`'s contract.
public protocol TransportTask: AnyObject, Sendable {
    /// The name that the framework gave it.
    var id: TransportTaskID { get }

    /// Starts the hop, or lets its bytes flow again after `suspend()`.
    func resume()

    /// Stops the flow of bytes until `resume()`; the connection stays.
    func suspend()

    /// Ends the hop. `.completed(.cancelled)` follows, unless the hop has ended by itself meanwhile.
    func cancel()

    /// Lets the body be delivered up to this absolute position.
    ///
    /// Positions only ever grow. Being absolute, not increments, they need no order between threads: the largest one
    /// wins whenever it arrives.
    func allow(upTo position: UInt64)
}

/// The name of a task within its session, by which events find their request.
public struct TransportTaskID: Hashable, Sendable, CustomStringConvertible {
    /// Unique in its session.
    public let rawValue: UInt64

    /// A name of this number.
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public var description: String { "task \(rawValue)" }
}
