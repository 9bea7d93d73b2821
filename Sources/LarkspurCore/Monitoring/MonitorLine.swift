/// The hops that wait until a monitor's queue has room, in order.
///
/// One hop at a time has a turn, and its end gives the turn to the next hop. So the hops that wait do not begin all at
/// once when the monitor takes the events of its queue.
struct MonitorLine {
    typealias Waiter = Continuation<MonitorTurn?>

    /// The maximum number of turns for each batch of events that the monitor takes. A hop has about 16 events, most of
    /// them later than its turn.
    static let turnLimit = EventQueue.limit / 16

    /// Whether a hop has the turn.
    var hasTurn = false
    /// The number of turns since the monitor has taken a batch of events.
    var turns = 0
    private var waiters: [Int: Waiter] = [:]
    /// The numbers of the waiters in order, with those of waiters that were removed.
    private var order: [Int] = []
    /// The position of the first number in `order` that was not taken.
    private var first = 0
    private var last = 0

    var count: Int { waiters.count }

    mutating func nextNumber() -> Int {
        last += 1
        return last
    }

    mutating func append(_ waiter: Waiter, _ number: Int) {
        if order.count > 64, order.count > 2 * waiters.count {
            order = order[first...].filter { waiters[$0] != nil }
            first = 0
        }
        waiters[number] = waiter
        order.append(number)
    }

    mutating func remove(_ number: Int) -> Waiter? { waiters.removeValue(forKey: number) }

    /// Removes and returns the first waiter, which now has the turn; nil if none waits.
    mutating func next() -> Waiter? {
        while first < order.count {
            first += 1
            guard let waiter = waiters.removeValue(forKey: order[first - 1]) else { continue }
            (hasTurn, turns) = (true, turns + 1)
            return waiter
        }
        return nil
    }
}
