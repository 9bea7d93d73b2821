/// What the session's delegate asks, and tells, about the session's tasks: answered from a box at once, because a
/// transport's thread cannot wait for an actor.
package protocol SessionStateProvider: AnyObject, Sendable {
    func request(for task: TransportTaskID) -> RequestCore?
    func trustPolicy(for task: TransportTaskID) -> TrustPolicy?
    func didGatherMetrics(for task: TransportTaskID)
    func didComplete(_ task: TransportTaskID)
    func cancelRequestsForSessionInvalidation(with error: (any Error)?)
}
