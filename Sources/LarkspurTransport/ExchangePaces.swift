/// The pace at which a reader of a shared exchange wants to receive the body.
package struct ExchangePace: Sendable, Equatable {
    package var isSuspended: Bool
    /// The position up to which the body may be delivered.
    package var allowed: UInt64
    /// The number of changes so far. Calls of several threads may overtake each other, so the largest number counts.
    package var version: UInt64

    package init(isSuspended: Bool = false, allowed: UInt64 = .max, version: UInt64 = 0) {
        (self.isSuspended, self.allowed, self.version) = (isSuspended, allowed, version)
    }
}

/// The paces of the readers of an exchange, by their seats, and the pace of the exchange's task that follows from them.
///
/// The task is as fast as the fastest reader.
package struct ExchangePaces: Sendable {
    private var paces: [ExchangePace?] = []
    /// The number of readers.
    package private(set) var count = 0
    /// The number of readers that are not suspended.
    private var running = 0
    /// Whether the exchange has received more than the readers that are not suspended allow.
    private var isAhead = false
    /// The number of bytes that the exchange has received.
    package private(set) var received: UInt64 = 0
    /// The largest position that a reader has ever allowed.
    private var allowed: UInt64 = 0
    /// Whether there ever was more than one reader at a time. A single reader's pace is that of the task.
    package private(set) var isShared = false

    /// The task, and the last pace and the last position that it was given.
    private var task: (any TransportTask)?
    private var isPaused = false
    private var granted: UInt64 = 0

    package init() {}

    // MARK: Readers

    /// Adds a reader. Returns the number of its seat.
    package mutating func add(_ pace: ExchangePace) -> Int {
        isShared = isShared || count > 0
        // A seat is not taken again: late calls of a reader that has left must find its own seat empty.
        let seat = paces.count
        paces.append(pace)
        count += 1
        if !pace.isSuspended { running += 1 }
        note(pace)
        return seat
    }

    /// Removes a reader. Returns false if the seat is empty.
    package mutating func remove(_ seat: Int) -> Bool {
        guard let old = self[seat] else { return false }
        paces[seat] = nil
        count -= 1
        if !old.isSuspended { running -= 1 }
        return true
    }

    package mutating func removeAll() { (paces, count, running) = ([], 0, 0) }

    /// The pace of the reader in the seat; nil if the seat is empty.
    package subscript(seat: Int) -> ExchangePace? { paces.indices.contains(seat) ? paces[seat] : nil }

    package mutating func set(_ pace: ExchangePace, of seat: Int) {
        guard let old = self[seat], old.version < pace.version else { return }
        paces[seat] = pace
        running += (old.isSuspended ? 1 : 0) - (pace.isSuspended ? 1 : 0)
        note(pace)
    }

    private mutating func note(_ pace: ExchangePace) {
        allowed = max(allowed, pace.allowed)
        if !pace.isSuspended, pace.allowed >= received { isAhead = false }
    }

    /// Counts received bytes. Returns the position of the first one.
    package mutating func receive(_ count: Int) -> UInt64 {
        defer { received += UInt64(count) }
        // A reader that left or is suspended may have allowed more than the others do.
        if isShared {
            let end = received + UInt64(count)
            isAhead = !paces.contains { pace in pace.map { !$0.isSuspended && $0.allowed >= end } ?? false }
        }
        return received
    }

    // MARK: The task

    /// Notes the task, whose allowance at the start is `granted`.
    package mutating func start(_ task: any TransportTask, granted: UInt64) {
        (self.task, self.granted) = (task, granted)
    }

    /// The task; nil before its start and after its end.
    package var startedTask: (any TransportTask)? { task }

    package mutating func takeTask() -> (any TransportTask)? { task.take() }

    /// Whether the readers want the task to pause.
    package var wantPause: Bool { running == 0 || isAhead }

    /// Returns the task and the position up to which it may deliver; nil if it was given this position already.
    package mutating func nextGrant() -> (any TransportTask, UInt64)? {
        guard let task, granted < allowed else { return nil }
        granted = allowed
        return (task, allowed)
    }

    /// Returns the task and whether it has to pause; nil if it has this pace already.
    ///
    /// - Parameter last: The pace that the calling thread has set just now; nil if it has set none. If another thread
    ///   has set another pace in between, its call may have come first, so the calling thread sets the pace again.
    package mutating func nextPace(isPaused wanted: Bool, after last: Bool?) -> (any TransportTask, isPaused: Bool)? {
        guard let task, wanted != isPaused || (last ?? wanted) != wanted else { return nil }
        isPaused = wanted
        return (task, wanted)
    }
}
