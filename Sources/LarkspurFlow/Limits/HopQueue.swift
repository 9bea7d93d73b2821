/// Hops in the order of their numbers. A hop that was withdrawn leaves a gap for a while.
struct HopQueue<Hop: Sendable>: Sendable {
    private struct Entry {
        let number: UInt64
        /// The hop; nil if it was withdrawn.
        var hop: Hop?
    }

    /// The first entry that counts is at `start`, and has a hop.
    private var entries: [Entry] = []
    private var start = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// The number of the first hop.
    var first: UInt64? { count == 0 ? nil : entries[start].number }

    /// Adds a hop. Its number is higher than those before.
    mutating func append(_ hop: Hop, _ number: UInt64) {
        entries.append(Entry(number: number, hop: hop))
        count += 1
    }

    mutating func removeFirst() -> Hop? {
        guard count > 0 else { return nil }
        count -= 1
        defer { removeGaps() }
        return entries[start].hop.take()
    }

    /// Removes the hop with this number.
    mutating func withdraw(_ number: UInt64) {
        var (low, high) = (start, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        guard low < entries.count, entries[low].number == number, entries[low].hop.take() != nil else { return }
        count -= 1
        removeGaps()
    }

    private mutating func removeGaps() {
        if count == 0 {
            start = 0
            return entries.removeAll(keepingCapacity: entries.capacity <= 64)
        }
        while entries[start].hop == nil { start += 1 }
        if start > 32, start > entries.count / 2 {
            entries.removeFirst(start)
            start = 0
        } else if entries.count - start > 2 * count + 32 {
            entries = entries[start...].filter { $0.hop != nil }
            start = 0
        }
    }
}
