/// The part of a session's state that its delegate needs. All functions return at once, because a transport's thread
/// cannot wait for an actor.
package protocol SessionStateProvider: AnyObject, Sendable {
    func request(for task: TransportTaskID) -> RequestCore?
    func advisor(for task: TransportTaskID) -> (any TransportAdvisor)?
    /// Removes a task that has ended, and returns its request; nil if the task is unknown.
    @discardableResult
    func remove(_ task: TransportTaskID) -> RequestCore?
    func cancelRequestsForSessionInvalidation(with error: (any Error)?)
}
