import Larkspur

/// A gate that blocks waiting tasks until it is opened. A cancel does not end the wait, like code that ignores
/// cancellation.
final class Gate: Sendable {
    private let box = Protected<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>], arrivals: Int)>(
        (false, [], 0))
    private let watchers = Protected<[(count: Int, continuation: CheckedContinuation<Void, Never>)]>([])

    /// Waits until the gate is open.
    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, arrivals) = box.withLock { box -> (Bool, Int) in
                box.arrivals += 1
                if !box.isOpen { box.waiting.append(continuation) }
                return (box.isOpen, box.arrivals)
            }
            if isOpen { continuation.resume() }
            tell(arrivals)
        }
    }

    /// Waits until so many tasks have reached the gate, whether it is open or not.
    func arrived(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            watchers.withLock { $0.append((count, continuation)) }
            tell(box.withLock { $0.arrivals })
        }
    }

    func open() {
        let waiting = box.withLock { box in
            box.isOpen = true
            defer { box.waiting = [] }
            return box.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private func tell(_ arrivals: Int) {
        let reached = watchers.withLock { watchers in
            defer { watchers.removeAll { $0.count <= arrivals } }
            return watchers.filter { $0.count <= arrivals }.map { $0.continuation }
        }
        for continuation in reached { continuation.resume() }
    }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let box = Protected(0)

    var value: Int { box.withLock { $0 } }

    @discardableResult
    func increment() -> Int {
        box.withLock { value in
            value += 1
            return value
        }
    }
}

/// Counts the bytes of bodies as the transport delivers them. It stores none, so that long bodies can be counted.
final class ByteCounter: EventMonitor {
    private let box = Protected(0)

    var value: Int { box.withLock { $0 } }

    func request(_ request: any Request, did event: RequestEvent) {
        if case .receiveBody(let count) = event { box.withLock { $0 += count } }
    }
}
