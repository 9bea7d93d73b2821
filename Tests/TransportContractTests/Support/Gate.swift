import Larkspur

/// A point in a peer's script at which the peer waits for the test's signal; also usable as a plain latch.
final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Observed(State())

    /// A gate that is already open: the peer pauses as briefly as possible.
    static var opened: Gate {
        let gate = Gate()
        gate.open()
        return gate
    }

    /// Opens the gate. It may be opened before the peer arrives.
    func open() { state.change { $0.isOpen = true } }

    /// Waits, in the peer, until the gate is open.
    func pass() async throws {
        state.change { $0.arrivals += 1 }
        try await state.wait { $0.isOpen }
    }

    /// Waits, in the test, until the peer has arrived at the gate.
    func reached() async throws { try await state.wait { $0.arrivals > 0 } }

    func opened() async throws { try await state.wait { $0.isOpen } }
}

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
        try await gate.pass()
    }
}
