/// The receiver of a transport's events and questions.
///
/// The transport calls both functions on its threads. The functions must return quickly and never block. They only
/// change state and pass work on to other threads, and run no user code (rule R2 in Concurrency.md).
public protocol TransportDelegate: AnyObject, Sendable {
    /// Receives an event of a task. The events of a task come in order (T5 in `Transport`).
    func received(_ event: TransportEvent, for task: TransportTaskID)

    /// Answers a question about a task through the question's reply, before this function returns (T19 in `Transport`).
    func answer(_ question: TransportQuestion, for task: TransportTaskID)
}
