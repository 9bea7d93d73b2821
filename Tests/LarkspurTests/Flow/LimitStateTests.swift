import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("The places of limits", .limited)
struct LimitStateTests {
    private typealias Places = LimitState<Int>

    /// Frees the place of a group, and returns the hops that are admitted next.
    private func release(_ group: String, of places: inout Places) -> [Int] {
        places.release(group)
        var admitted: [Int] = []
        while let hop = places.next() { admitted.append(hop) }
        return admitted
    }

    // MARK: The rules

    @Test("A hop is admitted while places are free, then it waits, and the queue has a limit")
    func arrivals() {
        var places = Places(total: 3, perHost: 2, queue: 2)
        let table: [(String, Places.Arrival)] = [
            ("a", .admitted), ("a", .admitted), ("a", .queued), ("b", .admitted), ("b", .queued), ("c", .overloaded),
        ]
        for (number, (group, expected)) in table.enumerated() {
            #expect(places.arrive(number, in: group, .normal) == expected, "hop \(number)")
        }
        #expect(places.running == 3)
        #expect(places.waitingCount == 2)
    }

    @Test("A free place goes to the oldest hop whose host has a free place")
    func oldestFirst() {
        var places = Places(total: 2, perHost: 1, queue: nil)
        for (number, group) in ["a", "b", "a", "b", "c"].enumerated() {
            _ = places.arrive(number, in: group, .normal)
        }
        #expect(release("b", of: &places) == [3])
        #expect(release("a", of: &places) == [2])
        #expect(release("b", of: &places) == [4])
    }

    @Test("A hop that arrives between a release and the next admission does not overtake those that wait")
    func noOvertaking() {
        var places = Places(total: 1, perHost: nil, queue: nil)
        for number in 0..<2 { _ = places.arrive(number, in: "a", .normal) }
        places.release("a")
        #expect(places.arrive(2, in: "b", .normal) == .queued)
        #expect(places.next() == 1)
    }

    @Test("A hop does not overtake a hop behind a withdrawn one")
    func noOvertakingOfLaterHops() {
        var places = Places(total: 1, perHost: 1, queue: nil)
        for (number, group) in ["a", "b", "c"].enumerated() { _ = places.arrive(number, in: group, .normal) }
        let isWithdrawn = places.withdraw(1)
        #expect(isWithdrawn)
        places.release("a")
        #expect(places.arrive(3, in: "d", .normal) == .queued)
        #expect(places.next() == 2)
    }

    @Test("A full queue has room for a hop that arrives between a release and the next admission", arguments: [1, 3])
    func fullQueue(ends: Int) {
        var places = Places(total: 4, perHost: nil, queue: 4)
        for number in 0..<8 { _ = places.arrive(number, in: "a", .normal) }
        for _ in 0..<ends { places.release("a") }
        let arrivals = (8..<16).map { places.arrive($0, in: "a", .normal) }
        #expect(arrivals.count { $0 == .queued } == ends && arrivals.last == .overloaded)
        let admitted = (0..<ends).compactMap { _ in places.next() }
        #expect(admitted == Array(4..<4 + ends) && places.waitingCount == 4)
        #expect(places.next() == nil)
    }

    @Test("A full queue has no room because of a withdrawn hop")
    func fullQueueWithGap() {
        var places = Places(total: 2, perHost: 1, queue: 1)
        for (number, group) in ["a", "b", "c"].enumerated() { _ = places.arrive(number, in: group, .normal) }
        _ = places.withdraw(2)
        #expect(places.arrive(3, in: "a", .normal) == .queued)
        places.release("b")
        #expect(places.arrive(4, in: "a", .normal) == .overloaded)
        #expect(places.arrive(5, in: "d", .normal) == .admitted)
    }

    @Test("Of several priorities that were passed over too often, the highest is served first")
    func overdueOrder() {
        var places = Places(total: 1, perHost: nil, queue: nil)
        for number in 0...RequestPriority.patience { _ = places.arrive(number, in: "a", .high) }
        for (number, priority) in [RequestPriority.normal, .low, .background].enumerated() {
            _ = places.arrive(100 + number, in: "a", priority)
        }
        for number in 200..<210 { _ = places.arrive(number, in: "a", .high) }
        let served = (0..<RequestPriority.patience + 3).flatMap { _ in release("a", of: &places) }
        #expect(served == Array(1...RequestPriority.patience) + [100, 101, 102])
    }

    @Test("A hop that waits for its own host does not hold up other hosts")
    func otherHosts() {
        var places = Places(total: 10, perHost: 1, queue: nil)
        for number in 0..<5 { _ = places.arrive(number, in: "a", .high) }
        #expect(places.arrive(5, in: "b", .background) == .admitted)
    }

    @Test("Higher priorities are served first, and equal ones in the order of their arrival")
    func priorities() {
        var places = Places(total: 1, perHost: nil, queue: nil)
        _ = places.arrive(-1, in: "a", .normal)
        for number in 0..<8 {
            _ = places.arrive(number, in: "a", RequestPriority.allCases[number % 4])
        }
        let order = (0..<8).flatMap { _ in release("a", of: &places) }
        #expect(order == [3, 7, 2, 6, 1, 5, 0, 4])
    }

    @Test(
        "A hop is served after at most eight hops of the highest priority", arguments: RequestPriority.allCases)
    func noStarvation(priority: RequestPriority) {
        var places = Places(total: 1, perHost: nil, queue: nil)
        _ = places.arrive(-1, in: "a", .high)
        for number in 0..<8 { _ = places.arrive(number, in: "a", .high) }
        _ = places.arrive(1_000, in: "a", priority)
        var served: [Int] = []
        for number in 8..<100 where served.last != 1_000 {
            _ = places.arrive(number, in: "a", .high)
            served += release("a", of: &places)
        }
        #expect(served.count <= 9)
        #expect(served.last == 1_000)
    }

    @Test("Hops of a lower priority to other hosts do not keep a hop of a busy host waiting")
    func noStarvationByOthers() {
        var places = Places(total: nil, perHost: 1, queue: nil)
        _ = places.arrive(-1, in: "a", .high)
        _ = places.arrive(-2, in: "b", .low)
        for number in 0..<3 { _ = places.arrive(number, in: "a", .high) }
        _ = places.arrive(1_000, in: "a", .low)
        var served: [Int] = []
        for number in 3..<100 where !served.contains(1_000) {
            _ = places.arrive(number, in: "a", .high)
            _ = places.arrive(number + 500, in: "b", .low)
            served += release("b", of: &places)
            served += release("a", of: &places)
        }
        #expect(served.count { (0..<100).contains($0) } <= RequestPriority.patience + 1)
        #expect(served.contains(1_000))
    }

    @Test("A withdrawn hop is not admitted, and its place in the queue is free")
    func withdrawals() {
        var places = Places(total: 1, perHost: nil, queue: 2)
        for number in 0..<3 { _ = places.arrive(number, in: "a", .normal) }
        let withdrawn = [1, 1, 0].map { places.withdraw($0) }  // the last one holds a place
        #expect(withdrawn == [true, false, false])
        #expect(places.arrive(3, in: "a", .normal) == .queued)
        #expect(release("a", of: &places) == [2])
        #expect(release("a", of: &places) == [3])
    }

    // MARK: The model

    /// The rules of the limits in the plainest form: one list, searched from its start.
    private struct Model {
        let total: Int
        let perHost: Int
        let queue: Int
        var running: [(hop: Int, group: String)] = []
        var waiting: [(hop: Int, group: String, priority: RequestPriority)] = []
        var passedOver: [RequestPriority: Int] = [:]
        var passedOverInGroup: [String: [RequestPriority: Int]] = [:]

        func hasPlace(_ group: String) -> Bool {
            running.count < total && running.count(where: { $0.group == group }) < perHost
        }

        mutating func arrive(_ hop: Int, _ group: String, _ priority: RequestPriority) -> Places.Arrival {
            if hasPlace(group) {
                running.append((hop, group))
                return .admitted
            }
            guard waiting.count < queue else { return .overloaded }
            waiting.append((hop, group, priority))
            return .queued
        }

        mutating func next() -> Int? {
            let overdue = RequestPriority.allCases.reversed().filter {
                passedOver[$0, default: 0] >= RequestPriority.patience
            }
            let order = overdue + RequestPriority.allCases.reversed().filter { !overdue.contains($0) }
            for priority in order {
                guard let first = waiting.firstIndex(where: { $0.priority == priority && hasPlace($0.group) }) else {
                    continue
                }
                let group = waiting[first].group
                let passes = passedOverInGroup[group] ?? [:]
                let late = RequestPriority.allCases.reversed()
                    .filter { $0 <= priority && passes[$0, default: 0] >= RequestPriority.patience }
                    .compactMap { lower in waiting.firstIndex { $0.priority == lower && $0.group == group } }.first
                let entry = waiting.remove(at: late ?? first)
                running.append((entry.hop, entry.group))
                passedOver[entry.priority] = 0
                passedOverInGroup[group, default: [:]][entry.priority] = 0
                for lower in RequestPriority.allCases where lower < entry.priority {
                    guard waiting.contains(where: { $0.priority == lower }) else { continue }
                    passedOver[lower, default: 0] += 1
                    if waiting.contains(where: { $0.priority == lower && $0.group == group }) {
                        passedOverInGroup[group]?[lower, default: 0] += 1
                    }
                }
                return entry.hop
            }
            return nil
        }

        mutating func withdraw(_ hop: Int) {
            guard let index = waiting.firstIndex(where: { $0.hop == hop }) else { return }
            let (_, group, priority) = waiting.remove(at: index)
            if !waiting.contains(where: { $0.priority == priority }) { passedOver[priority] = 0 }
            if !waiting.contains(where: { $0.priority == priority && $0.group == group }) {
                passedOverInGroup[group]?[priority] = 0
            }
        }
    }

    @Test("Withdrawn hops leave nothing behind while no place is free", arguments: [1, 7, 1_000])
    func withdrawnWhileFull(hosts: Int) {
        var places = Places(total: 1, perHost: 1, queue: nil)
        _ = places.arrive(0, in: "a", .normal)
        for hop in 1..<1_000 {
            _ = places.arrive(hop, in: "\(hop % hosts)", .normal)
            _ = places.withdraw(hop)
        }
        #expect(places.heads.allSatisfy { $0.count <= 33 })
        _ = places.arrive(1_000, in: "a", .normal)
        places.release("a")
        let next = places.next()
        #expect(next == 1_000)
    }

    @Test("Random arrivals, ends and withdrawals give the same result as a plain model")
    func model() {
        for seed in 0..<UInt64(rounds(200, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let (total, perHost) = (Int.random(in: 1...6, using: &random), Int.random(in: 1...4, using: &random))
            let queue = Int.random(in: 0...20, using: &random)
            var places = Places(total: total, perHost: perHost, queue: queue)
            var model = Model(total: total, perHost: perHost, queue: queue)
            for hop in 0..<50 {
                let group = ["a", "b", "c"].randomElement(using: &random) ?? "a"
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1, 2:
                    let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
                    let arrival = places.arrive(hop, in: group, priority)
                    #expect(arrival == model.arrive(hop, group, priority), "seed \(seed), hop \(hop)")
                case 3, 4:
                    guard let index = model.running.indices.randomElement(using: &random) else { continue }
                    places.release(model.running.remove(at: index).group)
                default:
                    guard let hop = model.waiting.randomElement(using: &random)?.hop else { continue }
                    let isWithdrawn = places.withdraw(hop)
                    #expect(isWithdrawn)
                    model.withdraw(hop)
                }
                var expected: [Int] = []
                while let next = model.next() { expected.append(next) }
                var admitted: [Int] = []
                while let next = places.next() { admitted.append(next) }
                guard admitted == expected, places.running == model.running.count,
                    places.waitingCount == model.waiting.count
                else {
                    Issue.record("seed \(seed), hop \(hop): \(admitted) instead of \(expected)")
                    return
                }
            }
        }
    }
}
