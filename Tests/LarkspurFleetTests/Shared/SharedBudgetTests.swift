import Foundation
import TestSupport
import Testing

@testable import LarkspurFleet

/// Processes with budgets in one store, whose time the test sets. A step of a process asks the store until the process
/// has a permit or must wait.
private struct Fleet {
    let time = TestedStore.Time()
    let store: LarkspurFleet.MemoryStore
    var budgets: [SharedBudget]
    var used: [Int]
    var asked = 0

    init(_ processes: Int, count: Int, window: Duration = .seconds(10)) {
        let time = time
        store = MemoryStore(now: { time.current })
        budgets = (0..<processes).map { _ in SharedBudget(count: count, window: window) }
        used = [Int](repeating: 0, count: processes)
    }

    /// Lets the process send a hop. Returns false if it must wait.
    mutating func send(_ process: Int) async throws -> Bool {
        while true {
            let now = time.current
            if budgets[process].take(at: now) {
                used[process] += 1
                return true
            }
            let step = budgets[process].step(at: now)
            guard case .ask(_, let amount) = step else { return false }
            asked += 1
            let answer = try await store.add(amount, to: "c", window: budgets[process].window)
            budgets[process].receive(answer, of: step, at: now)
        }
    }
}

@Suite("The permits of a shared limit", .limited)
struct SharedBudgetTests {
    @Test(
        "Busy processes use the whole limit and not more, and their parts differ by at most 5 %", arguments: [2, 3, 8])
    func fair(processes: Int) async throws {
        var fleet = Fleet(processes, count: 2_000)
        var numbers = SeededRandom(seed: 11)
        for window in 0..<4 {
            fleet.used = [Int](repeating: 0, count: processes)
            for _ in 0..<4 {  // quarters of the window
                // The first process is ten times as fast as the last.
                var waiting = Set<Int>()
                while waiting.count < processes {
                    let process = (0..<processes).randomElement(using: &numbers)!
                    for _ in 0..<(process == 0 ? 10 : 1) where !waiting.contains(process) {
                        if try await !fleet.send(process) { waiting.insert(process) }
                    }
                }
                fleet.time.advance(by: .milliseconds(2_500))
            }
            #expect(fleet.used.reduce(0, +) == 2_000)
            guard window > 0 else { continue }
            let part = 2_000 / processes
            for used in fleet.used { #expect(abs(used - part) <= part / 20, "window \(window): \(fleet.used)") }
        }
        #expect(fleet.asked < 2_000 * 4 / 8)  // most hops ask no store
    }

    @Test("A store that names a long time does not block a process for longer than a window")
    func remaining() {
        var budget = SharedBudget(count: 10, window: .seconds(10))
        let step = budget.step(at: .zero)
        let taken = SharedBudget.processUnit + 10
        budget.receive(StoreCount(value: taken, remaining: .seconds(1_000_000)), of: step, at: .zero)
        #expect(budget.step(at: .zero) == .wait(until: .seconds(10)))
    }

    @Test("A process without others gets the whole limit in each window")
    func alone() async throws {
        var fleet = Fleet(1, count: 50)
        for window in 1...3 {
            while try await fleet.send(0) {}
            #expect(fleet.used == [50 * window])
            fleet.time.advance(by: .seconds(10))
        }
    }

    @Test("What others leave can be used in the second half of the window")
    func leftOver() async throws {
        var fleet = Fleet(2, count: 100)
        for process in [0, 1] { #expect(try await fleet.send(process)) }
        fleet.time.advance(by: .seconds(10))
        for _ in 0..<2 { #expect(try await fleet.send(1)) }
        while try await fleet.send(0) {}
        #expect(fleet.used[0] == 51)
        fleet.time.advance(by: .seconds(5))
        while try await fleet.send(0) {}
        // The other process has borrowed five, and uses two of them.
        #expect(fleet.used[0] == 1 + 95)
    }

    @Test("The permits of a process that was killed are lost until the end of the window")
    func killed() async throws {
        var fleet = Fleet(2, count: 100)
        for process in [0, 1] { #expect(try await fleet.send(process)) }
        fleet.time.advance(by: .seconds(10))
        #expect(try await fleet.send(1))
        #expect(fleet.budgets[1].permits == 4)  // the process is killed
        for total in [1 + 95, 1 + 95 + 100] {
            for _ in 0..<2 {
                while try await fleet.send(0) {}
                fleet.time.advance(by: .seconds(5))
            }
            #expect(fleet.used[0] == total)
        }
    }

    @Test("A process that was stopped uses no permits of an earlier window")
    func stopped() async throws {
        var fleet = Fleet(2, count: 100)
        #expect(try await fleet.send(0))
        #expect(fleet.budgets[0].permits == 9)
        fleet.time.advance(by: .seconds(10))
        for _ in 0..<2 {
            while try await fleet.send(1) {}
            fleet.time.advance(by: .milliseconds(4_999))
        }
        #expect(fleet.used[1] == 100)
        #expect(try await !fleet.send(0), "the window has no permit left")
        #expect(fleet.used == [1, 100])
    }

    @Test("A process that starts in the middle of a window gets what is left, and a share from the next window on")
    func newcomer() async throws {
        for (first, left) in [(70, 30), (100, 0)] {
            var fleet = Fleet(2, count: 100)
            for _ in 0..<first { #expect(try await fleet.send(0)) }
            while try await fleet.send(1) {}
            #expect(fleet.used == [first, left])
            fleet.time.advance(by: .seconds(10))
            for _ in 0..<100 {
                for process in [0, 1] { _ = try await fleet.send(process) }
            }
            #expect(fleet.used == [first + 50, left + 50])
        }
    }

    @Test("Random processes never exceed the limit of a window", arguments: [1, 2, 3] as [UInt64])
    func limit(seed: UInt64) async throws {
        var numbers = SeededRandom(seed: seed)
        let (processes, count) = (Int.random(in: 1...6, using: &numbers), Int.random(in: 1...30, using: &numbers))
        var fleet = Fleet(processes, count: count)
        var end = Duration.zero
        for _ in 0..<2_000 {
            if Int.random(in: 0..<4, using: &numbers) == 0 {
                fleet.time.advance(by: .milliseconds(Int64.random(in: 1...900, using: &numbers)))
            }
            if fleet.time.current >= end {
                fleet.used = [Int](repeating: 0, count: processes)
                end = fleet.time.current + .seconds(10)
                // The window begins with the first hop.
                #expect(try await fleet.send(Int.random(in: 0..<processes, using: &numbers)))
            }
            _ = try await fleet.send(Int.random(in: 0..<processes, using: &numbers))
            #expect(fleet.used.reduce(0, +) <= count)
        }
    }

    @Test("Without a store, a process uses its share by the last known number of processes")
    func localShare() async throws {
        var fleet = Fleet(4, count: 100)
        for process in 0..<4 { #expect(try await fleet.send(process)) }
        fleet.time.advance(by: .seconds(10))
        for process in 0..<4 { #expect(try await fleet.send(process)) }
        func localPermits(_ budget: inout SharedBudget) -> Int {
            budget.useLocalShare(at: fleet.time.current, ofProcesses: 1)
            var count = 0
            while budget.take(at: fleet.time.current) { count += 1 }
            return count
        }
        var budget = fleet.budgets[3]
        var first = 0
        while budget.take(at: fleet.time.current) { first += 1 }
        #expect(1 + first + localPermits(&budget) == 25)
        #expect(localPermits(&budget) == 0)
        fleet.time.advance(by: .seconds(10))
        guard case .ask = budget.step(at: fleet.time.current) else {
            Issue.record("the process does not ask the store again in the next window")
            return
        }
        #expect(localPermits(&budget) == 25)
        var unknown = SharedBudget(count: 100, window: .seconds(10))
        unknown.useLocalShare(at: fleet.time.current, ofProcesses: 10)
        var count = 0
        while unknown.take(at: fleet.time.current) { count += 1 }
        #expect(count == 10)
    }
}
