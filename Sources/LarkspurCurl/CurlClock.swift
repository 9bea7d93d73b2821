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
    private var heap: [(time: CurlClock.Instant, slot: Int)] = []
    private var times: [CurlClock.Instant] = []

    var next: CurlClock.Instant { heap.first?.time ?? CurlClock.never }

    mutating func set(_ time: CurlClock.Instant, for slot: Int) {
        while times.count <= slot { times.append(CurlClock.never) }
        guard time < times[slot] else { return }
        times[slot] = time
        heap.append((time, slot))
        var child = heap.count - 1
        while child > 0, heap[child].time < heap[(child - 1) / 2].time {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func due(at now: CurlClock.Instant) -> Int? {
        while let (time, slot) = heap.first, time <= now {
            removeFirst()
            guard times[slot] == time else { continue }  // an earlier alarm of the same slot replaced this alarm
            times[slot] = CurlClock.never
            return slot
        }
        return nil
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].time < heap[first].time {
                first = child
            }
            guard first != parent else { return }
            heap.swapAt(parent, first)
            parent = first
        }
    }
}
