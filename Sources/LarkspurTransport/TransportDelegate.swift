/// The receiver of a transport's events and questions.
///
/// The transport calls both functions on its threads. The functions return quickly and never block: they change state,
/// pass work on and run no user code (rule R2 in Concurrency.md).
public protocol TransportDelegate: AnyObject, Sendable {
    /// Receives a fact about a task. Facts come in order (T5).
    func received(_ event: TransportEvent, for task: TransportTaskID)

    /// Answers a question about a task through its reply, before this function returns (T19).
    func answer(_ question: TransportQuestion, for task: TransportTaskID)
}
