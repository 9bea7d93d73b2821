import Foundation
import Larkspur
import LarkspurTesting

/// A request as its delegate sees it.
final class LineReader: TransportDelegate {
    private let box = Protected<[String]>([])

    var lines: [String] { box.withLock { $0 } }

    func received(_ event: TransportEvent, for task: TransportTaskID) { box.withLock { $0.append(event.line) } }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {}
}

/// A transport whose tasks record the calls that they get.
final class QuietTransport: Transport {
    final class Hop: TransportTask {
        struct State {
            var isSuspended = true
            var allowed: UInt64
            var isCancelled = false
        }

        let id: TransportTaskID
        private let delegate: any TransportDelegate
        private let box: Protected<State>

        init(_ id: TransportTaskID, _ delegate: any TransportDelegate, allowed: UInt64) {
            (self.id, self.delegate, box) = (id, delegate, Protected(State(allowed: allowed)))
        }

        var state: State { box.withLock { $0 } }

        func resume() { box.withLock { $0.isSuspended = false } }
        func suspend() { box.withLock { $0.isSuspended = true } }
        func allow(upTo position: UInt64) { box.withLock { $0.allowed = max($0.allowed, position) } }
        func cancel() {
            box.withLock { $0.isCancelled = true }
            for event in [TransportEvent.metrics(TransportMetrics()), .completed(.cancelled)] { deliver(event) }
        }

        func deliver(_ event: TransportEvent) { delegate.received(event, for: id) }
    }

    private let box = Protected<[Hop]>([])

    var hops: [Hop] { box.withLock { $0 } }

    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        let hop = Hop(id, delegate, allowed: request.initialAllowance)
        box.withLock { $0.append(hop) }
        return hop
    }

    func invalidate() {}
}

extension TransportEvent {
    var line: String {
        switch self {
        case .head(let head): "head \(head.status)"
        case .body(let bytes): "body \(bytes.count)"
        case .metrics: "metrics"
        case .completed(let error): "completed \(error.map { "\($0.code)" } ?? "well")"
        default: "other"
        }
    }
}
