internal import CLarkspur

/// The system's monotonic clock in nanoseconds. Every request reads it several times, and `ContinuousClock` costs more.
enum CurlClock {
    typealias Instant = UInt64

    static let zero: Instant = 0
    static let never = Instant.max

    static var now: Instant { clarkspur_clock_now() }

    /// Returns the instant that is `limit` after `start`, or `never` if there is no limit.
    static func instant(_ start: Instant, after limit: CompactDuration) -> Instant {
        limit.nanoseconds < never - start ? start + limit.nanoseconds : never
    }

    /// Returns the milliseconds from `now` to `then`, at most an hour. The number is rounded up, so that a wait of this
    /// length does not end before `then`.
    static func milliseconds(from now: Instant, to then: Instant) -> Int32 {
        guard then > now else { return 0 }
        return Int32(min((then - now + 999_999) / 1_000_000, 3_600_000))
    }
}

/// The times at which the loop must check the deadlines of transfers. Each transfer is identified by its slot.
///
/// A later deadline does not change an alarm that is already set: the alarm fires early, and the transfer then sets the
/// next alarm. Most requests therefore set no alarm, because an earlier request in the same slot has set one.
struct CurlAlarms {
    private var heap = SlotHeap<CurlClock.Instant>()

    var next: CurlClock.Instant { heap.first?.key ?? CurlClock.never }

    mutating func set(_ time: CurlClock.Instant, for slot: Int) {
        if time < heap[slot] ?? CurlClock.never { heap.set(time, for: slot) }
    }

    /// Removes an alarm whose time has come, and returns its slot; nil if there is none.
    mutating func due(at now: CurlClock.Instant) -> Int? {
        guard let (time, slot) = heap.first, time <= now else { return nil }
        heap.remove(slot)
        return slot
    }
}
