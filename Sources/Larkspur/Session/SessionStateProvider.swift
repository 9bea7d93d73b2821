/// What the session's delegate asks, and tells, about the session's tasks: answered from a box at once, because a
/// transport's thread cannot wait for an actor.
package protocol SessionStateProvider: AnyObject, Sendable {
    func request(for task: TransportTaskID) -> RequestCore?
    func trustPolicy(for task: TransportTaskID) -> TrustPolicy?
    /// Removes a task that has ended, and returns its request.
    @discardableResult
    func remove(_ task: TransportTaskID) -> RequestCore?
    func cancelRequestsForSessionInvalidation(with error: (any Error)?)
}
