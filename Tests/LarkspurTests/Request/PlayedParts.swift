import LarkspurTesting

@testable import Larkspur

/// Counts which handlers were called, and in which order.
final class HandlerLog: Sendable {
    private let box = Protected<(counts: [Int: Int], order: [Int])>(([:], []))

    func note(_ number: Int) {
        box.withLock {
            $0.counts[number, default: 0] += 1
            $0.order.append(number)
        }
    }

    var read: ([Int: Int], [Int]) { box.withLock { ($0.counts, $0.order) } }
}

/// A transport's task that the model plays itself.
final class PlayedTask: TransportTask {
    let id: TransportTaskID

    init(id: TransportTaskID) {
        self.id = id
    }

    func resume() {}
    func suspend() {}
    func cancel() {}
    func allow(upTo position: UInt64) {}
}
