import Larkspur
import Testing

/// A transport whose hops stand still until the test says what happens to them, on the test's own thread.
final class HeldTransport: Transport {
    private typealias Delivery = @Sendable (TransportEvent) -> Void

    private let deliver = Protected<[Delivery]>([])

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        HeldTask(id: id, delegate: delegate) { [deliver] event in deliver.withLock { $0.append(event) } }
    }

    func invalidate() {}

    /// Ends the hop that was resumed last: well, with this response, or with the error.
    func answer(_ status: Int = 200, headers: HTTPHeaders = [:], body: String = "text", error: TransportError? = nil) {
        guard let deliver = deliver.withLock({ $0.popLast() }) else {
            Issue.record("no hop is under way")
            return
        }
        deliver(.head(ResponseHead(status: status, fields: Array(headers))))
        if !body.isEmpty { deliver(.body(Data(body.utf8))) }
        deliver(.metrics(TransportMetrics()))
        deliver(.completed(error))
    }

    private final class HeldTask: TransportTask {
        let id: TransportTaskID
        private let delegate: any TransportDelegate
        private let start: @Sendable (@escaping Delivery) -> Void

        init(
            id: TransportTaskID, delegate: any TransportDelegate,
            start: @escaping @Sendable (@escaping Delivery) -> Void
        ) {
            self.id = id
            self.delegate = delegate
            self.start = start
        }

        func resume() { start { [delegate, id] event in delegate.received(event, for: id) } }
        func suspend() {}
        func cancel() { delegate.received(.completed(.cancelled), for: id) }
        func allow(upTo position: UInt64) {}
    }
}
