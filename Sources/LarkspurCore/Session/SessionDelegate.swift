/// A delegate that passes a transport's events and questions to the request of each task.
///
/// The delegate has no state: a `SessionStateProvider` knows the request of each task. The transport calls the delegate
/// on its own threads, which must not run user code (rule R2 in Concurrency.md).
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
            provider.request(for: task)?.answer(question, for: task, advisedBy: provider.advisor(for: task))
        }
    }

    /// Calls the closure, and marks the current thread as a transport's thread during the call. Tests use the mark to
    /// check that no user code runs on such a thread.
    private func onTransportThread(_ body: () -> Void) {
        #if DEBUG
            ThreadMarks.transportDepth += 1
            defer { ThreadMarks.transportDepth -= 1 }
        #endif
        body()
    }
}
