/// The places of some limits, and the hops that wait for them. A hop is any value, so that tests need no requests.
///
/// Hops of one group, which is an origin, share the limit of their host. Each group has a queue for each priority. A
/// heap for each priority has the first hop of each group that has a free place. So the next hop is found in O(log n),
/// however many hops and groups wait.
struct LimitState<Hop: Hashable & Sendable>: Sendable {
    enum Arrival: Equatable {
        case admitted, queued, overloaded
    }

    private struct Waiting {
        let hop: Hop
        let group: String
        let priority: Int
    }

    private struct Group {
        var running = 0
        /// The numbers of the hops that wait, for each priority. A number without a hop was withdrawn.
        var queues = [NumberQueue](repeating: NumberQueue(), count: RequestPriority.allCases.count)
        /// The number of hops of the group that were admitted while hops of this priority waited in the group.
        var passedOver = [Int](repeating: 0, count: RequestPriority.allCases.count)

        var isIdle: Bool { running == 0 && queues.allSatisfy(\.isEmpty) }
    }

    private let total: Int
    private let perHost: Int
    private let queueLimit: Int
    private var groups: [String: Group] = [:]
    private var waiting: [UInt64: Waiting] = [:]
    private var numbers: [Hop: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    /// The first hops of the groups, for each priority. An entry may be out of date: `next()` checks each.
    private(set) var heads = [NumberHeap](repeating: NumberHeap(), count: RequestPriority.allCases.count)
    /// The number of hops that wait, for each priority.
    private var counts = [Int](repeating: 0, count: RequestPriority.allCases.count)
    /// The number of hops that were admitted while hops of this priority waited.
    private var passedOver = [Int](repeating: 0, count: RequestPriority.allCases.count)

    /// The number of hops that hold a place.
    private(set) var running = 0
    /// The number of hops that wait.
    var waitingCount: Int { waiting.count }

    init(total: Int?, perHost: Int?, queue: Int?) {
        (self.total, self.perHost, queueLimit) = (total ?? .max, perHost ?? .max, queue ?? .max)
    }

    func running(in group: String) -> Int { groups[group]?.running ?? 0 }

    /// Gives the hop a place, if one is free and no other hop waits for it. Otherwise the hop waits.
    mutating func arrive(_ hop: Hop, in group: String, _ priority: RequestPriority) -> Arrival {
        let isFree = running < total && running(in: group) < perHost
        // If the group has a free place and hops wait although places are free, a release has not been followed by
        // `next()` yet. The new hop must not overtake the hops of its group, or those that wait for the total.
        if isFree, waiting.isEmpty || !hasReady && groups[group]?.queues.allSatisfy(\.isEmpty) ?? true {
            take(group)
            return .admitted
        }
        guard waiting.count < queueLimit else { return .overloaded }
        lastNumber += 1
        let level = priority.rawValue
        waiting[lastNumber] = Waiting(hop: hop, group: group, priority: level)
        numbers[hop] = lastNumber
        counts[level] += 1
        groups[group, default: Group()].queues[level].append(lastNumber)
        offer(group, level)
        return .queued
    }

    /// Frees the place of a hop. The caller then calls `next()` until it returns nil.
    mutating func release(_ group: String) {
        running -= 1
        groups[group]?.running -= 1
        for level in counts.indices { offer(group, level) }
        if groups[group]?.isIdle == true { groups[group] = nil }
    }

    /// Removes a hop that waits. Returns false if it does not wait any more.
    mutating func withdraw(_ hop: Hop) -> Bool {
        guard let number = numbers.removeValue(forKey: hop), let entry = waiting.removeValue(forKey: number) else {
            return false
        }
        counts[entry.priority] -= 1
        if counts[entry.priority] == 0 { passedOver[entry.priority] = 0 }
        groups[entry.group]?.queues[entry.priority].didWithdraw { waiting[$0] != nil }
        if first(of: entry.group, entry.priority) == nil { groups[entry.group]?.passedOver[entry.priority] = 0 }
        offer(entry.group, entry.priority)
        if groups[entry.group]?.isIdle == true { groups[entry.group] = nil }
        // While no place is free, `next()` does not clean the heap.
        if heads[entry.priority].count > 2 * counts[entry.priority] + 32 {
            heads[entry.priority].keep { waiting[$0] != nil }
        }
        return true
    }

    /// Gives a free place to the hop that is next, and returns the hop; nil if no hop can be admitted.
    mutating func next() -> Hop? {
        guard running < total else { return nil }
        for level in order {
            while let number = heads[level].first {
                guard let entry = waiting[number], entry.priority == level, running(in: entry.group) < perHost,
                    first(of: entry.group, level) == number
                else {
                    heads[level].removeFirst()
                    continue
                }
                let overdue = overdue(in: entry.group, below: level).flatMap { number in
                    waiting[number].map { (number, $0) }
                }
                let (served, hop) = overdue ?? (number, entry)
                admit(served, hop)
                return hop.hop
            }
        }
        return nil
    }

    /// Returns the first hop of the group that has a lower priority and was passed over too often by hops of the group.
    /// The limit of the host may keep it from being served when its priority's turn comes.
    private mutating func overdue(in group: String, below level: Int) -> UInt64? {
        for lower in (0..<level).reversed() where groups[group]?.passedOver[lower] ?? 0 >= RequestPriority.patience {
            if let number = first(of: group, lower) { return number }
        }
        return nil
    }

    /// The priorities in the order in which they are served: a priority that was passed over too often, then from the
    /// highest to the lowest.
    private var order: [Int] {
        let levels = counts.indices.reversed()
        return levels.filter { passedOver[$0] >= RequestPriority.patience }
            + levels.filter { passedOver[$0] < RequestPriority.patience }
    }

    private var hasReady: Bool {
        running < total
            && heads.contains { heap in
                heap.first.flatMap { waiting[$0] }.map { running(in: $0.group) < perHost } ?? false
            }
    }

    private mutating func admit(_ number: UInt64, _ entry: Waiting) {
        if heads[entry.priority].first == number { heads[entry.priority].removeFirst() }
        waiting[number] = nil
        numbers[entry.hop] = nil
        groups[entry.group]?.queues[entry.priority].removeFirst()
        counts[entry.priority] -= 1
        passedOver[entry.priority] = 0
        groups[entry.group]?.passedOver[entry.priority] = 0
        for level in 0..<entry.priority where counts[level] > 0 {
            passedOver[level] += 1
            if first(of: entry.group, level) != nil { groups[entry.group]?.passedOver[level] += 1 }
        }
        take(entry.group)
        for level in counts.indices { offer(entry.group, level) }
    }

    private mutating func take(_ group: String) {
        running += 1
        groups[group, default: Group()].running += 1
    }

    /// Puts the first hop of the group into the heap, if the group has a free place.
    private mutating func offer(_ group: String, _ level: Int) {
        guard running(in: group) < perHost, let number = first(of: group, level) else { return }
        heads[level].insert(number)
    }

    /// Returns the first hop of the group with this priority, without those that were withdrawn.
    private mutating func first(of group: String, _ level: Int) -> UInt64? {
        while let number = groups[group]?.queues[level].first {
            if waiting[number] != nil { return number }
            groups[group]?.queues[level].removeFirst()
        }
        return nil
    }
}

/// A queue of numbers, of which some may be withdrawn.
struct NumberQueue: Sendable {
    private var numbers: [UInt64] = []
    private var start = 0
    private var withdrawn = 0

    var isEmpty: Bool { start == numbers.count }
    var first: UInt64? { isEmpty ? nil : numbers[start] }

    mutating func append(_ number: UInt64) { numbers.append(number) }

    mutating func removeFirst() {
        start += 1
        if start > 32, start > numbers.count / 2 {
            numbers.removeFirst(start)
            start = 0
        }
    }

    /// Counts a number that was withdrawn. If many were, removes them.
    mutating func didWithdraw(_ isKept: (UInt64) -> Bool) {
        withdrawn += 1
        guard withdrawn > 32, withdrawn > (numbers.count - start) / 2 else { return }
        numbers = numbers[start...].filter(isKept)
        (start, withdrawn) = (0, 0)
    }
}

/// A heap of numbers, with the smallest first. A number that is already there is not inserted twice.
struct NumberHeap: Sendable {
    private var numbers: [UInt64] = []
    private var members: Set<UInt64> = []

    var count: Int { numbers.count }
    var first: UInt64? { numbers.first }

    /// Removes all other numbers.
    mutating func keep(_ isKept: (UInt64) -> Bool) {
        numbers = numbers.filter(isKept).sorted()  // a sorted array is a heap
        members = Set(numbers)
    }

    mutating func insert(_ number: UInt64) {
        guard members.insert(number).inserted else { return }
        numbers.append(number)
        var child = numbers.count - 1
        while child > 0, numbers[child] < numbers[(child - 1) / 2] {
            numbers.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let first = numbers.first else { return }
        members.remove(first)
        let last = numbers.removeLast()
        guard !numbers.isEmpty else { return }
        numbers[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < numbers.count else { return }
            let child = left + 1 < numbers.count && numbers[left + 1] < numbers[left] ? left + 1 : left
            guard numbers[child] < numbers[parent] else { return }
            numbers.swapAt(child, parent)
            parent = child
        }
    }
}
