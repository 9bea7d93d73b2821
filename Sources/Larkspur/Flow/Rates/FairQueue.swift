/// A queue that serves higher priorities first, and equal ones in the order of their arrival. A lower priority is
/// served at the latest after ten elements of higher ones: after eight, unless other priorities have waited as long.
struct FairQueue<Element: Hashable & Sendable>: Sendable {
    private struct Level {
        var queue = NumberQueue()
        var count = 0
        /// The number of elements of higher priorities that were served while elements of this one waited.
        var passedOver = 0
    }

    private var levels = [Level](repeating: Level(), count: RequestPriority.allCases.count)
    private var elements: [UInt64: Element] = [:]
    private var numbers: [Element: (number: UInt64, level: Int)] = [:]
    private var lastNumber: UInt64 = 0

    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }

    /// The number of elements with this priority or a higher one.
    func count(from priority: RequestPriority) -> Int { levels[priority.rawValue...].reduce(0) { $0 + $1.count } }

    mutating func append(_ element: Element, _ priority: RequestPriority) {
        lastNumber += 1
        elements[lastNumber] = element
        numbers[element] = (lastNumber, priority.rawValue)
        levels[priority.rawValue].queue.append(lastNumber)
        levels[priority.rawValue].count += 1
    }

    mutating func next() -> Element? {
        let waiting = levels.indices.reversed().filter { levels[$0].count > 0 }
        guard let level = waiting.first(where: { levels[$0].passedOver >= RequestPriority.patience }) ?? waiting.first
        else {
            return nil
        }
        for lower in waiting where lower < level { levels[lower].passedOver += 1 }
        levels[level].passedOver = 0
        while let number = levels[level].queue.first {
            levels[level].queue.removeFirst()
            guard let element = elements.removeValue(forKey: number) else { continue }  // it was withdrawn
            numbers[element] = nil
            levels[level].count -= 1
            return element
        }
        return nil
    }

    /// Removes an element. Returns false if it is not in the queue.
    mutating func withdraw(_ element: Element) -> Bool {
        guard let (number, level) = numbers.removeValue(forKey: element) else { return false }
        elements[number] = nil
        levels[level].count -= 1
        if levels[level].count == 0 { levels[level].passedOver = 0 }
        levels[level].queue.didWithdraw { elements[$0] != nil }
        return true
    }
}
