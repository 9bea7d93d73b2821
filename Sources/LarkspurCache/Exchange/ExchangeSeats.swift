/// The readers of a shared exchange, with their paces. Slower readers read the missing bytes where they are stored.
struct ExchangeSeats: Sendable {
    private var seats: [CachingTask?] = []
    var paces = ExchangePaces()

    /// The readers, in the order of their seats.
    var readers: [CachingTask] { seats.compactMap(\.self) }

    /// The readers, and whether each is suspended.
    var readersWithPaces: [(reader: CachingTask, isSuspended: Bool)] {
        seats.indices.compactMap { seat in seats[seat].map { ($0, paces[seat]?.isSuspended ?? false) } }
    }

    /// The only reader of an exchange that never had several.
    var onlyReader: CachingTask? { paces.isShared ? nil : seats.last ?? nil }

    /// Adds a reader. Returns the number of its seat.
    mutating func add(_ reader: CachingTask, _ pace: ExchangePace) -> Int {
        seats.append(reader)
        return paces.add(pace)
    }

    /// Returns the reader, to be released after unlocking.
    mutating func remove(_ seat: Int) -> CachingTask? { paces.remove(seat) ? seats[seat].take() : nil }

    /// Removes all readers and returns them.
    mutating func removeAll() -> [CachingTask] {
        defer { seats = [] }
        paces.removeAll()
        return readers
    }
}
