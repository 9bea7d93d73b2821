import Larkspur

/// A gate that blocks waiting tasks until it is opened. A cancel does not end the wait, like code that ignores
/// cancellation.
final class Gate: Sendable {
    private let box = Protected<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))
    private let arrivals = Counter()

    /// Waits until the gate is open.
    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = box.withLock { box in
                if !box.isOpen { box.waiting.append(continuation) }
                return box.isOpen
            }
            if isOpen { continuation.resume() }
            arrivals.increment()
        }
    }

    /// Waits until so many tasks have reached the gate, whether it is open or not.
    func arrived(_ count: Int = 1) async { await arrivals.reached(count) }

    func open() {
        let waiting = box.withLock { box in
            box.isOpen = true
            defer { box.waiting = [] }
            return box.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// A counter for any thread. Tests can wait for a value.
final class Counter: Sendable {
    private typealias Watcher = (count: Int, continuation: CheckedContinuation<Void, Never>)

    private let box = Protected<(value: Int, watchers: [Watcher])>((0, []))

    var value: Int { box.withLock { $0.value } }

    @discardableResult
    func increment() -> Int {
        let (value, ready) = box.withLock { box in
            box.value += 1
            let value = box.value
            if box.watchers.isEmpty { return (value, [Watcher]()) }
            defer { box.watchers.removeAll { $0.count <= value } }
            return (value, box.watchers.filter { $0.count <= value })
        }
        for watcher in ready { watcher.continuation.resume() }
        return value
    }

    /// Waits until the counter has reached this value.
    func reached(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = box.withLock { box in
                if box.value < count { box.watchers.append((count, continuation)) }
                return box.value >= count
            }
            if isReached { continuation.resume() }
        }
    }
}

/// Opens a gate when it is released.
final class ReleaseProbe: Sendable {
    private let released: Gate

    init(opening released: Gate) { self.released = released }
    deinit { released.open() }
}

/// Counts the bytes of bodies as the transport delivers them. It stores none, so that long bodies can be counted.
final class ByteCounter: EventMonitor {
    private let box = Protected(0)

    var value: Int { box.withLock { $0 } }

    func request(_ request: any Request, did event: RequestEvent) {
        if case .receiveBody(let count) = event { box.withLock { $0 += count } }
    }
}
