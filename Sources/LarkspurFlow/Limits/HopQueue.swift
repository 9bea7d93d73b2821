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

/// The first hops of some lines, of which the one with the smallest number is the first.
struct HeadHeap: Sendable {
    struct Head: Sendable {
        let number: UInt64
        let group: Int
    }

    private var heads: [Head] = []

    var count: Int { heads.count }
    var first: Head? { heads.first }
    /// The groups of the entries.
    var groups: [Int] { heads.map(\.group) }

    mutating func insert(_ head: Head) {
        heads.append(head)
        var child = heads.count - 1
        while child > 0, heads[child].number < heads[(child - 1) / 2].number {
            heads.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = heads.popLast(), !heads.isEmpty else { return }
        heads[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heads.count else { return }
            let right = left + 1
            let child = right < heads.count && heads[right].number < heads[left].number ? right : left
            guard heads[child].number < heads[parent].number else { return }
            heads.swapAt(child, parent)
            parent = child
        }
    }

    /// Removes all other entries.
    mutating func keep(_ isKept: (Head) -> Bool) {
        heads = heads.filter(isKept).sorted { $0.number < $1.number }  // a sorted array is a heap
    }
}
