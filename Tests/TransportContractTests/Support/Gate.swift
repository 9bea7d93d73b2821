import Larkspur
import TestSupport

typealias Gate = TestSupport.Gate
typealias Observed = TestSupport.Observed

/// A clock for `StubTransport` whose durations identify gates, so that `.wait` ends with a signal and not with time.
final class GateClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        fileprivate let offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private let gates = Protected<[Gate]>([])

    var now: Instant { Instant(offset: .zero) }
    var minimumResolution: Duration { .seconds(1) }

    /// Returns the duration that identifies this gate.
    func duration(for gate: Gate) -> Duration {
        gates.withLock { gates in
            gates.append(gate)
            return .seconds(gates.count - 1)
        }
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let index = Int(deadline.offset.components.seconds)
        let gate = gates.withLock { $0[index] }
        try await gate.passUnlessCancelled()
    }
}
