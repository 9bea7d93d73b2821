import Larkspur
import LarkspurTesting

@testable import LarkspurCore

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

/// A transport whose hops the model plays itself.
final class PlayedTransport: Transport {
    func task(for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate) -> any TransportTask
    {
        PlayedTask(id: id)
    }

    func invalidate() {}
}

/// A transport's task that the model plays itself.
final class PlayedTask: TransportTask {
    let id: TransportTaskID
    let isCancelled = AtomicFlag()

    init(id: TransportTaskID) {
        self.id = id
    }

    func resume() {}
    func suspend() {}
    func cancel() { isCancelled.raise() }
    func allow(upTo position: UInt64) {}
}

/// An awaiter of a response: a task that waits until the model, or the request's state, resumes it.
final class PlayedAwaiter {
    let slot: Int
    let number: UInt64
    let continuation: Continuation<SerializerSlot.Answer>
    private let task: Task<Void, Never>

    init(slot: Int, number: UInt64, log: HandlerLog) {
        let box = Protected<Continuation<SerializerSlot.Answer>?>(nil)
        task = Task.immediate {
            _ = await suspended { continuation in box.withLock { $0 = continuation } }
            log.note(slot)
        }
        guard let continuation = box.withLock({ $0 }) else { preconditionFailure("the task has run up to its wait") }
        (self.slot, self.number, self.continuation) = (slot, number, continuation)
    }

    var isAnswered: Void { get async { await task.value } }
}
