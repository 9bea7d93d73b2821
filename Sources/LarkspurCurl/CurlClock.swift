internal import CLarkspur

/// The monotonic clock in nanoseconds. Every request reads it, so it avoids the cost of `ContinuousClock`.
enum CurlClock {
    typealias Instant = UInt64

    static let zero: Instant = 0
    static let never = Instant.max

    static var now: Instant { clarkspur_clock_now() }

    /// Returns the instant that is `limit` after `start`; `never` without a limit.
    static func instant(_ start: Instant, after limit: CompactDuration) -> Instant {
        limit.nanoseconds < never - start ? start + limit.nanoseconds : never
    }

    /// Returns the milliseconds from `now` to `then`, rounded up: a wait must not end just before its time.
    static func milliseconds(from now: Instant, to then: Instant) -> Int32 {
        guard then > now else { return 0 }
        return Int32(min((then - now + 999_999) / 1_000_000, 3_600_000))
    }
}

/// The alarms of transfers: times by slot, the earliest first.
///
/// Alarms are not removed. If the deadline of a slot has moved meanwhile, the transfer sets the next alarm when it
/// wakes. A request therefore needs no new alarm if its slot has an earlier one.
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
            guard times[slot] == time else { continue }  // an earlier alarm replaced this one and has fired
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
