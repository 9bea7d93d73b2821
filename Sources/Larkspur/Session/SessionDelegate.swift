/// Passes a transport's events and questions to the request of the task.
///
/// It has no state: a `SessionStateProvider` knows the request of each task. It is called on the transport's threads,
/// so it runs no user code (rule R2 in Concurrency.md).
package final class SessionDelegate: TransportDelegate {
    private let provider: any SessionStateProvider

    package init(provider: any SessionStateProvider) { self.provider = provider }

    package func received(_ event: TransportEvent, for task: TransportTaskID) {
        onTransportThread {
            guard case .completed(let error) = event else {
                provider.request(for: task)?.receive(event, for: task)
                return
            }
            let request = provider.remove(task)
            if error?.code == .invalidated { provider.cancelRequestsForSessionInvalidation(with: error) }
            request?.receive(event, for: task)
        }
    }

    package func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        onTransportThread {
            provider.request(for: task)?.answer(question, for: task, trust: provider.trustPolicy(for: task))
        }
    }

    /// Marks the thread as the transport's during the call, so that tests can prove that no user code runs on it.
    private func onTransportThread(_ body: () -> Void) {
        #if DEBUG
            ThreadMarks.transportDepth += 1
            defer { ThreadMarks.transportDepth -= 1 }
        #endif
        body()
    }
}
