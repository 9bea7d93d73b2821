/// The pace at which a reader wants to receive the body.
struct ExchangePace: Sendable, Equatable {
    var isSuspended: Bool
    /// The position up to which the body may be delivered.
    var allowed: UInt64
    /// The number of changes so far. Calls of several threads may overtake each other, so the largest number counts.
    var version: UInt64

    init(isSuspended: Bool = false, allowed: UInt64 = .max, version: UInt64 = 0) {
        (self.isSuspended, self.allowed, self.version) = (isSuspended, allowed, version)
    }
}

/// The readers of a shared exchange with their paces, and the pace of the base's task that follows from them.
///
/// The base's task is as fast as the fastest reader. Slower readers read the missing bytes where they are stored.
struct ExchangeSeats: Sendable {
    private struct Seat: Sendable {
        let reader: CachingTask
        var pace: ExchangePace
    }

    private var seats: [Seat?] = []
    /// The number of readers.
    private(set) var count = 0
    /// The number of readers that are not suspended.
    private var running = 0
    /// Whether the exchange has received more than the readers that are not suspended allow.
    private var isAhead = false
    /// The number of bytes that the exchange has received.
    private(set) var received: UInt64 = 0
    /// The largest position that a reader has ever allowed.
    private(set) var allowed: UInt64 = 0
    /// Whether there ever was more than one reader at a time. A single reader's pace is that of the base's task.
    private(set) var isShared = false

    init() {}

    /// The readers, in the order of their seats.
    var readers: [CachingTask] { seats.compactMap { $0?.reader } }

    /// The only reader of an exchange that never had several.
    var onlyReader: CachingTask? { isShared ? nil : seats.last??.reader }

    /// Whether the base's task has to pause.
    var isPaused: Bool { running == 0 || isAhead }

    /// Adds a reader. Returns the number of its seat.
    mutating func add(_ reader: CachingTask, _ pace: ExchangePace) -> Int {
        isShared = isShared || count > 0
        // A seat is not taken again: late calls of a reader that has left must find its own seat empty.
        let seat = seats.count
        seats.append(Seat(reader: reader, pace: pace))
        count += 1
        if !pace.isSuspended { running += 1 }
        note(pace)
        return seat
    }

    /// Returns the reader, to be released after unlocking.
    mutating func remove(_ seat: Int) -> CachingTask? {
        guard let old = seats[seat] else { return nil }
        seats[seat] = nil
        count -= 1
        if !old.pace.isSuspended { running -= 1 }
        return old.reader
    }

    /// Removes all readers and returns them.
    mutating func removeAll() -> [CachingTask] {
        defer { (seats, count, running) = ([], 0, 0) }
        return readers
    }

    func isTaken(_ seat: Int) -> Bool { seats.indices.contains(seat) && seats[seat] != nil }

    mutating func set(_ pace: ExchangePace, of seat: Int) {
        guard seats.indices.contains(seat), let old = seats[seat]?.pace, old.version < pace.version else { return }
        seats[seat]?.pace = pace
        running += (old.isSuspended ? 1 : 0) - (pace.isSuspended ? 1 : 0)
        note(pace)
    }

    private mutating func note(_ pace: ExchangePace) {
        allowed = max(allowed, pace.allowed)
        if !pace.isSuspended, pace.allowed >= received { isAhead = false }
    }

    /// Counts received bytes. Returns the position of the first one.
    mutating func receive(_ count: Int) -> UInt64 {
        defer { received += UInt64(count) }
        // A reader that left or is suspended may have allowed more than the others do.
        if isShared {
            let end = received + UInt64(count)
            isAhead = !seats.contains { seat in seat.map { !$0.pace.isSuspended && $0.pace.allowed >= end } ?? false }
        }
        return received
    }
}
