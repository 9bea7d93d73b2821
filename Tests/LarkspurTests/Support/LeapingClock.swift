import Larkspur

/// A clock without waiting: each sleep advances it at once.
final class LeapingClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        fileprivate let offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private let box = Protected(Instant(offset: .zero))

    var now: Instant { box.withLock { $0 } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        box.withLock { $0 = max($0, deadline) }
    }
}
