import Larkspur
import Testing

/// A transport whose hops wait until the test completes them, on the test's own thread.
final class HeldTransport: Transport {
    private let running = Protected<[HeldHop]>([])
    private let begun = AsyncStream<HeldHop>.makeStream()

    /// The hops in the order of their start.
    var hops: AsyncStream<HeldHop>.Iterator { begun.stream.makeAsyncIterator() }

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        HeldHop(id, delegate) { [running, begun] hop in
            running.withLock { $0.append(hop) }
            begun.continuation.yield(hop)
        }
    }

    func invalidate() {}

    /// Ends the hop that was resumed last, with the response or with the error.
    func answer(_ status: Int = 200, headers: HTTPHeaders = [:], body: String = "text", error: TransportError? = nil) {
        guard let hop = running.withLock({ $0.popLast() }) else {
            Issue.record("no hop is under way")
            return
        }
        hop.answer(status, headers, body: body, error: error)
    }
}

/// A transport that calls the test with each hop when it is made and when it is started.
final class StartingTransport: Transport {
    private let make: @Sendable (HeldHop) -> Void
    private let start: @Sendable (HeldHop) -> Void

    init(make: @escaping @Sendable (HeldHop) -> Void = { _ in }, start: @escaping @Sendable (HeldHop) -> Void) {
        (self.make, self.start) = (make, start)
    }

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        let hop = HeldHop(id, delegate, begin: start)
        make(hop)
        return hop
    }

    func invalidate() {}
}

final class HeldHop: TransportTask {
    let id: TransportTaskID
    private let delegate: any TransportDelegate
    private let begin: @Sendable (HeldHop) -> Void
    private let cancels = Protected(false)

    init(_ id: TransportTaskID, _ delegate: any TransportDelegate, begin: @escaping @Sendable (HeldHop) -> Void) {
        (self.id, self.delegate, self.begin) = (id, delegate, begin)
    }

    func resume() { begin(self) }
    func suspend() {}
    func allow(upTo position: UInt64) {}
    func cancel() {
        cancels.withLock { $0 = true }
        finish(TransportError(.cancelled))
    }

    var isCancelled: Bool { cancels.withLock { $0 } }

    func send(_ counts: UInt64...) { for count in counts { delegate.received(.bodySent(count), for: id) } }

    func receive(_ events: TransportEvent...) { for event in events { delegate.received(event, for: id) } }

    func answer(_ status: Int, _ headers: HTTPHeaders = [:], body: String = "", error: TransportError? = nil) {
        delegate.received(.head(ResponseHead(status: status, fields: Array(headers))), for: id)
        if !body.isEmpty { delegate.received(.body(Data(body.utf8)), for: id) }
        finish(error)
    }

    func finish(_ error: TransportError?) {
        delegate.received(.metrics(TransportMetrics()), for: id)
        delegate.received(.completed(error), for: id)
    }
}

/// A delegate that ignores all events.
final class IgnoringDelegate: TransportDelegate {
    func received(_ event: TransportEvent, for task: TransportTaskID) {}
    func answer(_ question: TransportQuestion, for task: TransportTaskID) {}
}
