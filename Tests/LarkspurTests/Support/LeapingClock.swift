import Larkspur

/// A clock without waiting: each sleep advances it at once, and is recorded.
final class LeapingClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        fileprivate let offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private let box = Protected((now: Instant(offset: .zero), sleeps: [Duration]()))

    var now: Instant { box.withLock { $0.now } }
    var sleeps: [Duration] { box.withLock { $0.sleeps } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        box.withLock {
            $0.sleeps.append($0.now.duration(to: deadline))
            $0.now = max($0.now, deadline)
        }
    }
}
