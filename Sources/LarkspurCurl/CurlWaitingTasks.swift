/// The tasks that wait for a connection to an origin, in the order of their arrival.
struct CurlWaitingTasks {
    /// The number of a waiting task. Later tasks have higher numbers.
    typealias Ticket = UInt64

    /// The entries in the order of their tickets. An entry without a task belongs to a task that no longer waits. The
    /// entry at `start`, if there is one, has a task.
    private var entries: [(ticket: Ticket, task: CurlTask?)] = []
    private var start = 0
    private var removed = 0

    var isEmpty: Bool { start == entries.count }

    /// The ticket of the task that has waited longest; nil if no task waits.
    var firstTicket: Ticket? { isEmpty ? nil : entries[start].ticket }

    /// Adds a task, whose ticket is higher than those of all earlier tasks.
    mutating func append(_ task: CurlTask, _ ticket: Ticket) { entries.append((ticket, task)) }

    /// Removes and returns the task that has waited longest.
    mutating func removeFirst() -> CurlTask? {
        guard !isEmpty else { return nil }
        let task = entries[start].task
        dropEntry(at: start)
        return task
    }

    /// Removes a task that no longer waits. Returns nil if the task was already removed.
    mutating func remove(_ ticket: Ticket) -> CurlTask? {
        var (low, high) = (start, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        guard low < entries.count, entries[low].ticket == ticket, let task = entries[low].task else { return nil }
        dropEntry(at: low)
        return task
    }

    /// Removes and returns all tasks.
    mutating func removeAll() -> [CurlTask] {
        defer { self = CurlWaitingTasks() }
        return entries.compactMap(\.task)
    }

    private mutating func dropEntry(at index: Int) {
        entries[index].task = nil
        removed += 1
        while start < entries.count, entries[start].task == nil { start += 1 }
        // Each compaction removes more than half of the entries, so its cost is constant for each removed task.
        guard removed > entries.count / 2 else { return }
        entries.removeAll { $0.task == nil }
        (start, removed) = (0, 0)
    }
}

/// The tasks that wait for a connection to an origin: a higher priority first, and equal priorities in the order of
/// their arrival.
struct CurlWaitingQueue {
    /// The tasks of one priority.
    private struct Level {
        var tasks = CurlWaitingTasks()
        /// The number of tasks of higher priorities that have started while tasks of this one waited.
        var passedOver = 0
    }

    /// The rank of the next task among the next tasks of several queues. The greater one starts first.
    struct Rank: Comparable {
        let isPassedOver: Bool
        let level: Int
        let ticket: CurlWaitingTasks.Ticket

        static func < (lhs: Rank, rhs: Rank) -> Bool {
            if lhs.isPassedOver != rhs.isPassedOver { return rhs.isPassedOver }
            return lhs.level != rhs.level ? lhs.level < rhs.level : lhs.ticket > rhs.ticket
        }
    }

    /// The tasks by priority; empty until a task has to wait.
    private var levels: [Level] = []

    var isEmpty: Bool { levels.allSatisfy(\.tasks.isEmpty) }

    /// The rank of the next task; nil if no task waits.
    var first: Rank? {
        levels.indices.compactMap { level in
            levels[level].tasks.firstTicket.map { ticket in
                Rank(isPassedOver: levels[level].passedOver >= RequestPriority.patience, level: level, ticket: ticket)
            }
        }.max()
    }

    /// Adds a task, whose ticket is higher than those of all earlier tasks.
    mutating func append(_ task: CurlTask, _ ticket: CurlWaitingTasks.Ticket) {
        if levels.isEmpty { levels = RequestPriority.allCases.map { _ in Level() } }
        levels[task.request.priority.rawValue].tasks.append(task, ticket)
    }

    /// Removes and returns the next task.
    mutating func removeFirst() -> CurlTask? {
        guard let level = first?.level else { return nil }
        levels[level].passedOver = 0
        passOver(below: level)
        return levels[level].tasks.removeFirst()
    }

    /// Notes that a task of this priority starts before the tasks of lower priorities.
    mutating func passOver(below level: Int) {
        for lower in levels.indices.prefix(level) where !levels[lower].tasks.isEmpty { levels[lower].passedOver += 1 }
    }

    /// Removes a task that no longer waits. Returns nil if the task was already removed.
    mutating func remove(_ ticket: CurlWaitingTasks.Ticket) -> CurlTask? {
        for level in levels.indices {
            guard let task = levels[level].tasks.remove(ticket) else { continue }
            if levels[level].tasks.isEmpty { levels[level].passedOver = 0 }
            return task
        }
        return nil
    }

    /// Removes and returns all tasks.
    mutating func removeAll() -> [CurlTask] { levels.indices.reversed().flatMap { levels[$0].tasks.removeAll() } }
}
