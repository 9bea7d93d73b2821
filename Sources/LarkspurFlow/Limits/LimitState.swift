/// The places of some limits, and the hops that wait for them. A hop is any value, so that tests need no requests.
///
/// Hops of one group, which is an origin, share the limit of their host. Each group has a line for each priority. A
/// heap for each priority has the first hop of each line whose group has a free place. So the next hop is found in
/// O(log n), however many hops and groups wait.
struct LimitState<Hop: Hashable & Sendable>: Sendable {
    enum Arrival: Equatable {
        case admitted, queued, overloaded
    }

    private struct Group {
        let name: String
        var running = 0
        /// The hops that wait, for each priority.
        var lines = [Line](repeating: Line(), count: RequestPriority.allCases.count)

        /// Whether no hop of the group runs or waits.
        var isIdle: Bool { running == 0 && isEmpty }
        /// Whether no hop of the group waits.
        var isEmpty: Bool { lines.allSatisfy(\.queue.isEmpty) }
    }

    private struct Line {
        var queue = NumberedQueue<Hop>()
        /// The number of hops of the group that were admitted while hops of this line waited.
        var passedOver = 0
    }

    /// Where a hop waits.
    private struct Place {
        let group: Int
        let level: Int
        let number: UInt64
    }

    private let total: Int
    private let perHost: Int
    private let queueLimit: Int
    /// The groups; those whose index is in `free` are not used.
    private var groups: [Group] = []
    private var free: [Int] = []
    private var indices: [String: Int] = [:]
    private var places: [Hop: Place] = [:]
    private var lastNumber: UInt64 = 0
    /// The groups with the numbers of the first hops of their lines, for each priority. A number may be out of date:
    /// `next()` checks each.
    private(set) var heads = [SlotHeap<UInt64>](repeating: SlotHeap(), count: RequestPriority.allCases.count)
    /// The number of hops that wait, for each priority.
    private var counts = [Int](repeating: 0, count: RequestPriority.allCases.count)
    /// The number of hops that were admitted while hops of this priority waited.
    private var passedOver = [Int](repeating: 0, count: RequestPriority.allCases.count)

    /// The number of hops that hold a place.
    private(set) var running = 0
    /// The number of hops that wait.
    var waitingCount: Int { places.count }

    init(total: Int?, perHost: Int?, queue: Int?) {
        (self.total, self.perHost, queueLimit) = (total ?? .max, perHost ?? .max, queue ?? .max)
    }

    /// Gives the hop a place, if one is free and no other hop waits for it. Otherwise the hop waits. The caller then
    /// calls `next()` until it returns nil.
    mutating func arrive(_ hop: Hop, in name: String, _ priority: RequestPriority) -> Arrival {
        let known = indices[name]
        // A release may not have been followed by `next()` yet. The new hop must not overtake the hops that are next,
        // and they do not count for the limit of the queue.
        let leaving = placesForWaiting()
        if leaving == 0, running < total, known.map({ groups[$0].running < perHost && groups[$0].isEmpty }) ?? true {
            take(known ?? add(name))
            return .admitted
        }
        guard places.count - queueLimit < leaving else { return .overloaded }
        let (group, level) = (known ?? add(name), priority.rawValue)
        lastNumber += 1
        places[hop] = Place(group: group, level: level, number: lastNumber)
        counts[level] += 1
        groups[group].lines[level].queue.append(hop, lastNumber)
        offer(group, level)
        return .queued
    }

    /// Frees the place of a hop. The caller then calls `next()` until it returns nil.
    mutating func release(_ name: String) {
        guard let group = indices[name] else { return }
        running -= 1
        groups[group].running -= 1
        for level in counts.indices { offer(group, level) }
        removeIfIdle(group)
    }

    /// Removes a hop that waits. Returns false if it does not wait any more.
    mutating func withdraw(_ hop: Hop) -> Bool {
        guard let place = places.removeValue(forKey: hop) else { return false }
        let (group, level) = (place.group, place.level)
        counts[level] -= 1
        if counts[level] == 0 { passedOver[level] = 0 }
        _ = groups[group].lines[level].queue.remove(place.number)
        if groups[group].lines[level].queue.isEmpty { groups[group].lines[level].passedOver = 0 }
        removeIfIdle(group)
        // While no place is free, `next()` does not clean the heap.
        if heads[level].count > 2 * counts[level] + 32 { removeEmptyLines(at: level) }
        return true
    }

    /// Gives a free place to the hop that is next, and returns the hop; nil if no hop can be admitted.
    ///
    /// A priority that was passed over too often is served first, then the priorities from the highest to the lowest.
    mutating func next() -> Hop? {
        guard running < total, !places.isEmpty else { return nil }
        for level in counts.indices.reversed() where passedOver[level] >= RequestPriority.patience {
            if let hop = next(at: level) { return hop }
        }
        for level in counts.indices.reversed() where passedOver[level] < RequestPriority.patience {
            if let hop = next(at: level) { return hop }
        }
        return nil
    }

    private mutating func next(at level: Int) -> Hop? {
        guard let group = readyGroup(at: level) else { return nil }
        return admit(from: group, overdueLevel(in: group, upTo: level) ?? level)
    }

    /// Returns the group whose hop is the next one of this priority, and removes entries that are out of date.
    private mutating func readyGroup(at level: Int) -> Int? {
        while let (number, group) = heads[level].first {
            if groups[group].running < perHost, groups[group].lines[level].queue.first == number { return group }
            heads[level].remove(group)
            offer(group, level)
            removeIfIdle(group)
        }
        return nil
    }

    /// Returns the number of free places that waiting hops get by the next calls of `next()`.
    private mutating func placesForWaiting() -> Int {
        guard running < total, !places.isEmpty else { return 0 }
        var count = 0
        for level in counts.indices where readyGroup(at: level) != nil {
            for group in heads[level].slots {
                count += min(groups[group].lines[level].queue.count, perHost - groups[group].running)
            }
        }
        return min(count, total - running)
    }

    /// Returns the highest priority, at most this level, that was passed over too often by hops of the group. The limit
    /// of the host may keep its hops from being served when the priority's turn comes.
    private func overdueLevel(in group: Int, upTo level: Int) -> Int? {
        (0...level).last { groups[group].lines[$0].passedOver >= RequestPriority.patience && hasWaiting(group, $0) }
    }

    private mutating func admit(from group: Int, _ level: Int) -> Hop? {
        if heads[level].first?.slot == group { heads[level].remove(group) }
        guard let hop = groups[group].lines[level].queue.removeFirst() else { return nil }
        places[hop] = nil
        counts[level] -= 1
        passedOver[level] = 0
        groups[group].lines[level].passedOver = 0
        for lower in 0..<level where counts[lower] > 0 {
            passedOver[lower] += 1
            if hasWaiting(group, lower) { groups[group].lines[lower].passedOver += 1 }
        }
        take(group)
        for level in counts.indices { offer(group, level) }
        return hop
    }

    // MARK: Groups

    private func hasWaiting(_ group: Int, _ level: Int) -> Bool { !groups[group].lines[level].queue.isEmpty }

    private mutating func take(_ group: Int) {
        running += 1
        groups[group].running += 1
    }

    /// Puts the first hop of the line into the heap, if the group has a free place.
    private mutating func offer(_ group: Int, _ level: Int) {
        guard let number = groups[group].lines[level].queue.first, heads[level][group] == nil,
            groups[group].running < perHost
        else { return }
        heads[level].set(number, for: group)
    }

    private mutating func add(_ name: String) -> Int {
        let group = free.popLast() ?? groups.count
        if group == groups.count { groups.append(Group(name: name)) } else { groups[group] = Group(name: name) }
        indices[name] = group
        return group
    }

    private mutating func removeIfIdle(_ group: Int) {
        guard groups[group].isIdle, heads.allSatisfy({ $0[group] == nil }),
            indices.removeValue(forKey: groups[group].name) != nil
        else { return }
        free.append(group)
        if indices.isEmpty { (groups, free) = ([], []) }
    }

    /// Removes the entries of lines without a hop from a heap.
    private mutating func removeEmptyLines(at level: Int) {
        for group in heads[level].slots where !hasWaiting(group, level) {
            heads[level].remove(group)
            removeIfIdle(group)
        }
    }
}
