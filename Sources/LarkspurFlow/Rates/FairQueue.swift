/// A queue that serves higher priorities first, and equal ones in the order of their arrival. A lower priority is
/// served at the latest after ten elements of higher ones: after eight, unless other priorities have waited as long.
struct FairQueue<Element: Hashable & Sendable>: Sendable {
    private struct Level {
        var queue = HopQueue<Element>()
        /// The number of elements of higher priorities that were served while elements of this one waited.
        var passedOver = 0
    }

    private var levels = [Level](repeating: Level(), count: RequestPriority.allCases.count)
    private var places: [Element: (number: UInt64, level: Int)] = [:]
    private var lastNumber: UInt64 = 0

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    /// Returns the number of elements that are certainly served before a new one of this priority. More may be served
    /// before it: elements of lower priorities that have waited long, and elements that arrive later.
    func count(before priority: RequestPriority) -> Int {
        let level = levels[priority.rawValue]
        let higher = levels[(priority.rawValue + 1)...].reduce(0) { $0 + $1.queue.count }
        // Each element of this level is served at the latest after so many of higher levels.
        let patience = RequestPriority.patience
        let passing = max(0, patience - level.passedOver) + level.queue.count * patience
        return level.queue.count + min(higher, passing)
    }

    mutating func append(_ element: Element, _ priority: RequestPriority) {
        lastNumber += 1
        places[element] = (lastNumber, priority.rawValue)
        levels[priority.rawValue].queue.append(element, lastNumber)
    }

    mutating func next() -> Element? {
        let waiting = levels.indices.reversed().filter { !levels[$0].queue.isEmpty }
        guard let level = waiting.first(where: { levels[$0].passedOver >= RequestPriority.patience }) ?? waiting.first,
            let element = levels[level].queue.removeFirst()
        else { return nil }
        places[element] = nil
        for lower in waiting where lower < level { levels[lower].passedOver += 1 }
        levels[level].passedOver = 0
        return element
    }

    /// Removes an element. Returns false if it is not in the queue.
    mutating func withdraw(_ element: Element) -> Bool {
        guard let (number, level) = places.removeValue(forKey: element) else { return false }
        levels[level].queue.withdraw(number)
        if levels[level].queue.isEmpty { levels[level].passedOver = 0 }
        return true
    }
}
