import Larkspur
import TestSupport
import Testing

/// Tests of the audit. Most contract tests depend on it, so it has to find each violation itself.
@Suite("Contract audit", .limited)
struct TraceAuditTests {
    private static let head = TransportEvent.head(ResponseHead(status: 200))
    private static let body = TransportEvent.body(Data([1]))
    private static let metrics = TransportEvent.metrics(TransportMetrics())
    private static let done = TransportEvent.completed(nil)
    private static let failed = TransportEvent.completed(TransportError(.connectionLost))

    private static let early = ResponseHead(status: 103)
    private static let fields: HTTPHeaders = ["X-Sum": "1"]

    private static let broken: [(rule: String, events: [TransportEvent])] = [
        ("T4", [head, metrics]),
        ("T4", [head, metrics, done, done]),
        ("T4", [head, metrics, done, body]),
        ("T5", [head, metrics, body, done]),
        ("T5", [body, head, metrics, done]),
        ("T5", [head, metrics, .bodySent(1), done]),
        ("T5", [.head(ResponseHead(status: 103)), metrics, failed]),
        ("T5", [head, .information(early), metrics, done]),
        ("T5", [head, .trailers(fields), body, metrics, done]),
        ("T27", [.information(ResponseHead(status: 100)), head, metrics, done]),
        ("T28", [head, .trailers(fields), .trailers(fields), metrics, done]),
        ("T28", [head, body, .trailers(fields), metrics, failed]),
        ("T6", [head, head, metrics, done]),
        ("T6", [metrics, done]),
        ("T6", [body, metrics, failed]),
        ("T6", [head, head, metrics, failed]),
        ("T7", [head, done]),
        ("T7", [head, metrics, metrics, done]),
        ("T7", [metrics, head, done]),
        ("T11", [.bodySent(2), .bodySent(1), head, metrics, done]),
    ]

    @Test("the audit finds each broken order", arguments: broken)
    func seesBreaks(rule: String, events: [TransportEvent]) {
        let faults = Self.trace(events).audit()
        #expect(faults.contains { $0.hasPrefix(rule + ":") }, "\(faults)")
    }

    private static let sound: [[TransportEvent]] = [
        [head, metrics, done], [head, body, body, metrics, done], [metrics, failed], [head, metrics, failed],
        [head, body, metrics, failed],
        [.information(early), .information(early), head, body, .trailers(fields), metrics, done],
        [.bodySent(1), .bodySent(1), head, .bodySent(2), body, .bodySent(3), metrics, done],
    ]

    @Test("the audit accepts each order that the contract allows", arguments: sound)
    func acceptsSound(events: [TransportEvent]) {
        #expect(Self.trace(events).audit() == [])
    }

    @Test("the audit finds metrics of a task that was never resumed")
    func metricsWithoutResume() {
        #expect(Self.trace([Self.metrics, Self.failed]).audit(wasResumed: false).count == 1)
        #expect(Self.trace([Self.failed]).audit(wasResumed: false) == [])
    }

    @Test("the audit finds events that overlap, nested or from another thread")
    func overlaps() async throws {
        let reply = TransportReply<any TransportBodyStream>()
        let outer = Protected<RecordingDelegate?>(nil)
        let nested = RecordingDelegate(answering: { _ in
            outer.withLock { $0 }?.received(Self.head, for: TransportTaskID(1))
        })
        outer.withLock { $0 = nested }
        nested.answer(.bodyFromStart(offset: 0, reply), for: TransportTaskID(1))
        outer.withLock { $0 = nil }
        #expect(nested.recorded.faults.map { $0.prefix(3) } == ["T5:"])

        let (entered, leave) = (Gate(), DispatchSemaphore(value: 0))
        let delegate = RecordingDelegate(answering: { _ in
            entered.open()
            leave.wait()
        })
        Thread.detachNewThread { delegate.answer(.bodyFromStart(offset: 0, reply), for: TransportTaskID(1)) }
        try await entered.opened()
        delegate.received(Self.head, for: TransportTaskID(1))
        leave.signal()
        #expect(delegate.recorded.faults.map { $0.prefix(3) } == ["T5:"])
    }

    #if DEBUG
        @Test("the audit finds an event that is delivered under a lock")
        func underALock() {
            let (delegate, box) = (RecordingDelegate(), Protected(0))
            box.withLock { _ in delegate.received(Self.head, for: TransportTaskID(1)) }
            #expect(delegate.recorded.faults.map { $0.prefix(3) } == ["R1:"])
        }
    #endif

    private static func trace(_ events: [TransportEvent]) -> Trace {
        let delegate = RecordingDelegate()
        for event in events { delegate.received(event, for: TransportTaskID(1)) }
        return delegate.recorded
    }
}
