/// The order of a group's requests, each known by its number. It starts no request itself, so that tests need none.
struct GroupState: Sendable {
    private enum Status {
        /// Waits for so many other requests.
        case waiting(Int)
        case ready, running, ended
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
    }

    private var members: [Member] = []
    private var ready: [Int] = []
    private var running = 0
    private(set) var ended = 0
    private let atOnce: Int

    init(atOnce: Int) { self.atOnce = max(1, atOnce) }

    var count: Int { members.count }
    var isOver: Bool { ended == members.count }

    /// Adds a request. Returns its number.
    mutating func add() -> Int {
        members.append(Member())
        return members.count - 1
    }

    /// Makes one request wait for another. Returns false if the other one waits for the first, directly or indirectly.
    mutating func add(_ member: Int, after other: Int) -> Bool {
        guard !waits(other, for: member) else { return false }
        if members[member].predecessors.insert(other).inserted { members[other].successors.append(member) }
        return true
    }

    private func waits(_ member: Int, for other: Int) -> Bool {
        var (seen, next): (Set<Int>, [Int]) = ([], [member])
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
        guard case .running = members[member].status else { return Step() }
        members[member].status = .ended
        (running, ended) = (running - 1, ended + 1)
        for successor in members[member].successors {
            guard case .waiting(let count) = members[successor].status else { continue }
            if failed { members[successor].isDoomed = true }
            members[successor].status = count == 1 ? .ready : .waiting(count - 1)
            if count == 1 { ready.append(successor) }
        }
        return startReady()
    }

    private mutating func startReady() -> Step {
        var step = Step()
        var held: [Int] = []
        for member in ready {
            guard members[member].isDoomed || running < atOnce else {
                held.append(member)
                continue
            }
            members[member].status = .running
            running += 1
            if members[member].isDoomed { step.skip.append(member) } else { step.start.append(member) }
        }
        ready = held
        return step
    }
}
