import Larkspur
import TestSupport

typealias Gate = TestSupport.Gate
typealias Counter = TestSupport.Counter

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
