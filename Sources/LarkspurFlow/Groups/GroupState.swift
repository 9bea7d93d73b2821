/// The order of a group's requests, each known by its number. It starts no request itself, so that tests need none.
struct GroupState: Sendable {
    private enum Status {
        /// Waits for so many other requests.
        case waiting(Int)
        case ready, running
        /// Fails because a predecessor has failed.
        case skipped
        case ended
    }

    private struct Member {
        var status = Status.waiting(0)
        var predecessors: Set<Int> = []
        var successors: [Int] = []
        /// Whether a predecessor has failed.
        var isDoomed = false
    }

    /// The requests to start now, and those that fail because a predecessor has failed.
    struct Step: Sendable, Equatable {
        var start: [Int] = []
        var skip: [Int] = []
        /// Whether all requests have to be cancelled, because this was the first failure of a group that stops.
        var cancelsAll = false
    }

    private var members: [Member] = []
    /// The members that are ready, in order. Those before `firstReady` have been started.
    private var ready: [Int] = []
    private var firstReady = 0
    private var running = 0
    private(set) var ended = 0
    private let atOnce: Int
    /// Whether the first failure cancels all requests. Nothing is added after the start, so one cancel is enough.
    private var stopsAtFailure: Bool

    init(atOnce: Int, onFailure: GroupFailure = .collect) {
        (self.atOnce, stopsAtFailure) = (max(1, atOnce), onFailure == .stop)
    }

    var count: Int { members.count }
    var isOver: Bool { ended == members.count }

    /// Adds a request, or makes a request wait for more others. Returns its number. Returns nil and changes nothing if
    /// one of the others waits for the request, directly or indirectly.
    ///
    /// - Parameters:
    ///   - known: The number of a request of the group; nil adds one.
    ///   - others: The numbers of the requests that the request waits for.
    mutating func add(_ known: Int? = nil, after others: [Int] = []) -> Int? {
        let number = known ?? members.count
        guard !waits(others, for: number) else { return nil }
        if known == nil { members.append(Member()) }
        for other in others {
            let isNew = members[number].predecessors.insert(other).inserted
            if isNew { members[other].successors.append(number) }
        }
        return number
    }

    /// Returns whether one of these requests is the other one, or waits for it.
    private func waits(_ some: [Int], for other: Int) -> Bool {
        if some.contains(other) { return true }
        // No request waits for most requests that are added, so the search is rare.
        guard other < members.count, !members[other].successors.isEmpty else { return false }
        var (seen, next): (Set<Int>, [Int]) = ([], some)
        while let one = next.popLast() {
            if one == other { return true }
            if seen.insert(one).inserted { next += members[one].predecessors }
        }
        return false
    }

    mutating func begin() -> Step {
        for index in members.indices {
            let count = members[index].predecessors.count
            members[index].status = count == 0 ? .ready : .waiting(count)
            if count == 0 { ready.append(index) }
        }
        return startReady()
    }

    /// Notes the end of a request that was started or skipped.
    mutating func end(_ member: Int, failed: Bool) -> Step {
        switch members[member].status {
        case .running: running -= 1
        case .skipped: break
        case .waiting, .ready, .ended: return Step()
        }
        members[member].status = .ended
        ended += 1
        var skip: [Int] = []
        for successor in members[member].successors {
            guard case .waiting(let count) = members[successor].status else { continue }
            if failed { members[successor].isDoomed = true }
            if count > 1 {
                members[successor].status = .waiting(count - 1)
            } else if members[successor].isDoomed {
                members[successor].status = .skipped
                skip.append(successor)
            } else {
                members[successor].status = .ready
                ready.append(successor)
            }
        }
        var step = startReady()
        step.skip = skip
        if failed, stopsAtFailure { (step.cancelsAll, stopsAtFailure) = (true, false) }
        return step
    }

    private mutating func startReady() -> Step {
        var step = Step()
        while running < atOnce, firstReady < ready.count {
            let member = ready[firstReady]
            firstReady += 1
            members[member].status = .running
            running += 1
            step.start.append(member)
        }
        return step
    }
}
