/// Receives what happens to a transport's tasks, and answers for them.
///
/// Both functions are called on the transport's threads and return quickly: they change state and hand work on, they
/// run no user code and never block (R2).
public protocol TransportDelegate: AnyObject, Sendable {
    /// A fact, delivered in order (T5).
    func received(_ event: TransportEvent, for task: TransportTaskID)

    /// A question, answered through its reply before this returns (T19).
    func answer(_ question: TransportQuestion, for task: TransportTaskID)
}
