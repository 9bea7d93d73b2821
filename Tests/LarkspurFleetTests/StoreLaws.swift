import Foundation
import TestSupport
import Testing

@testable import LarkspurFleet

/// The rules that every store keeps.
@Suite("Laws of stores", .limited)
struct StoreLaws {
    private static let kinds = TestedStore.Kind.allCases

    @Test("A stored value is read back, each time with a new version, until it is removed", arguments: kinds)
    func values(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        #expect(try await store.value(for: "a") == nil)
        for bytes in [Data(), Data([0, 255]), Data(repeating: 7, count: 1 << 20)] {
            let versions = [try await store.set(bytes, for: "a"), try await store.set(bytes, for: "a")]
            #expect(versions[0] != versions[1])
            #expect(try await store.value(for: "a") == StoredValue(bytes, version: versions[1]))
        }
        try await store.removeValue(for: "a")
        #expect(try await store.value(for: "a") == nil)
        try await store.removeValue(for: "a")
    }

    @Test("A value ends with its lifetime, not before", arguments: kinds)
    func lifetimes(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        try await tested.store.set(Data([1]), for: "a", lifetime: .seconds(10))
        tested.time.advance(by: .milliseconds(9_999))
        #expect(try await tested.store.value(for: "a") != nil)
        tested.time.advance(by: .milliseconds(1))
        #expect(try await tested.store.value(for: "a") == nil)
        try await tested.store.set(Data([1]), for: "a", lifetime: .seconds(10))
        try await tested.store.set(Data([2]), for: "a")
        tested.time.advance(by: .seconds(100))
        #expect(try await tested.store.value(for: "a")?.data == Data([2]))
    }

    @Test("A change whose condition does not hold changes nothing", arguments: kinds)
    func conditions(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        func set(_ byte: UInt8, _ condition: StoreCondition) async throws -> StoreVersion? {
            try await store.set(Data([byte]), for: "a", if: condition, lifetime: .seconds(10), under: nil)
        }
        let first = try #require(try await set(1, .isAbsent))
        #expect(try await set(2, .isAbsent) == nil)
        #expect(try await set(2, .isVersion(StoreVersion(number: first.number ^ 1))) == nil)
        #expect(try await store.value(for: "a")?.data == Data([1]))
        let second = try #require(try await set(2, .isVersion(first)))
        #expect(try await !store.removeValue(for: "a", if: .isVersion(first), under: nil))
        #expect(try await store.removeValue(for: "a", if: .isVersion(second), under: nil))
        #expect(try await set(3, .isVersion(second)) == nil)
        let third = try #require(try await set(3, .isAbsent))
        tested.time.advance(by: .seconds(10))
        #expect(try await set(4, .isVersion(third)) == nil)
        #expect(try await set(4, .isAbsent) != nil)
    }

    @Test("Concurrent changes by version lose none", arguments: kinds)
    func concurrentChanges(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<25 { try await Self.increment(store) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.value(for: "sum")?.data == Data("200".utf8))
    }

    private static func increment(_ store: any SharedStore) async throws {
        while true {
            let value = try await store.value(for: "sum")
            let sum = value.flatMap { Int(String(decoding: $0.data, as: UTF8.self)) } ?? 0
            let condition = value.map { StoreCondition.isVersion($0.version) } ?? .isAbsent
            let new = Data("\(sum + 1)".utf8)
            if try await store.set(new, for: "sum", if: condition, lifetime: nil, under: nil) != nil { return }
        }
    }

    @Test("A counter adds within its window, and begins again after it", arguments: kinds)
    func counters(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        func add(_ amount: Int64) async throws -> StoreCount {
            try await store.add(amount, to: "c", window: .seconds(10))
        }
        #expect(try await add(2) == StoreCount(value: 2, remaining: .seconds(10)))
        tested.time.advance(by: .seconds(4))
        #expect(try await add(-5) == StoreCount(value: -3, remaining: .seconds(6)))
        #expect(try await add(.min) == StoreCount(value: .min, remaining: .seconds(6)))
        tested.time.advance(by: .seconds(6))
        #expect(try await add(1) == StoreCount(value: 1, remaining: .seconds(10)))
        #expect(try await add(.max) == StoreCount(value: .max, remaining: .seconds(10)))
    }

    @Test("A lease has one holder until it ends, is given up or is not renewed", arguments: kinds)
    func leases(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let (store, time) = (tested.store, tested.time)
        let first = try #require(try await store.takeLease("l", for: .seconds(10)))
        #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
        time.advance(by: .seconds(6))
        #expect(try await store.renew(first, for: .seconds(10)))
        time.advance(by: .seconds(9))
        #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
        time.advance(by: .seconds(1))
        #expect(try await store.renew(first, for: .seconds(1)))  // it is still free
        time.advance(by: .seconds(1))
        let second = try #require(try await store.takeLease("l", for: .seconds(10)))
        #expect(second.number > first.number)
        #expect(try await !store.renew(first, for: .seconds(10)))
        try await store.release(first)
        #expect(try await store.takeLease("l", for: .seconds(10)) == nil)
        try await store.release(second)
        let third = try #require(try await store.takeLease("l", for: .seconds(10)))
        #expect(third.number > second.number)
    }

    @Test("After a write of a later holder, those of earlier holders are refused", arguments: kinds)
    func fencing(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        let old = try #require(try await store.takeLease("l", for: .seconds(1)))
        #expect(try await store.set(Data([1]), for: "a", if: .always, lifetime: nil, under: old) != nil)
        tested.time.advance(by: .seconds(1))
        let new = try #require(try await store.takeLease("l", for: .seconds(1)))
        #expect(try await store.set(Data([2]), for: "a", if: .always, lifetime: nil, under: new) != nil)
        await #expect(throws: StoreError.self) {
            try await store.set(Data([3]), for: "a", if: .always, lifetime: nil, under: old)
        }
        await #expect {
            try await store.removeValue(for: "a", if: .always, under: old)
        } throws: {
            ($0 as? StoreError)?.code == .staleLease
        }
        #expect(try await store.value(for: "a")?.data == Data([2]))
        #expect(try await store.removeValue(for: "a", if: .always, under: new))
        await #expect(throws: StoreError.self) {
            try await store.set(Data([3]), for: "a", if: .always, lifetime: nil, under: old)
        }
    }

    @Test("One of many takes a free lease", arguments: kinds)
    func concurrentLeases(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        for _ in 0..<10 {
            let leases = try await withThrowingTaskGroup(of: StoreLease?.self) { group in
                for _ in 0..<16 { group.addTask { try await store.takeLease("l", for: .seconds(1)) } }
                return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
            }
            #expect(leases.count == 1)
            tested.time.advance(by: .seconds(1))
        }
    }

    @Test(
        "Each name is its own, whatever its characters are",
        arguments: kinds,
        [
            ["a", "A"], ["a/b", "a_2fb", "a"], ["..", "."], ["é", "e\u{301}"], [" ", "\0", "\n"], ["_", "__", "_5f"],
        ])
    func names(kind: TestedStore.Kind, names: [String]) async throws {
        let tested = try TestedStore(kind)
        let long = names + [String(repeating: "/", count: 1_024), String(repeating: "/", count: 1_023)]
        for (number, name) in long.enumerated() {
            try await tested.store.set(Data([UInt8(number)]), for: name)
            _ = try await tested.store.add(Int64(number), to: name, window: .seconds(1))
            #expect(try await tested.store.takeLease(name, for: .seconds(1)) != nil)
        }
        for (number, name) in long.enumerated() {
            #expect(try await tested.store.value(for: name)?.data == Data([UInt8(number)]))
        }
    }

    @Test("Bad input is an error, and changes nothing", arguments: kinds)
    func badInput(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        func isRefused(_ operation: () async throws -> Void) async -> Bool {
            do { try await operation() } catch { return (error as? StoreError)?.code == .invalidInput }
            return false
        }
        for name in ["", String(repeating: "a", count: 1_025)] {
            #expect(await isRefused { try await store.set(Data(), for: name) })
            #expect(await isRefused { _ = try await store.value(for: name) })
            #expect(await isRefused { _ = try await store.add(1, to: name, window: .seconds(1)) })
            #expect(await isRefused { _ = try await store.takeLease(name, for: .seconds(1)) })
        }
        for duration in [Duration.zero, .seconds(-1), .seconds(Int64.max)] {
            #expect(await isRefused { try await store.set(Data(), for: "a", lifetime: duration) })
            #expect(await isRefused { _ = try await store.add(1, to: "a", window: duration) })
            #expect(await isRefused { _ = try await store.takeLease("a", for: duration) })
        }
        #expect(try await store.value(for: "a") == nil)
    }

    @Test("A sequence of changes has an element at once, and after each later change", arguments: kinds)
    func changes(kind: TestedStore.Kind) async throws {
        let tested = try TestedStore(kind)
        var changes = tested.store.changes(of: "a").makeAsyncIterator()
        #expect(await changes.next() != nil)
        for byte in UInt8(0)..<5 {
            try await tested.store.set(Data([byte]), for: "a")
            #expect(await changes.next() != nil)
            #expect(try await tested.store.value(for: "a")?.data == Data([byte]))
        }
        try await tested.store.removeValue(for: "a")
        #expect(await changes.next() != nil)
    }

    // MARK: Against a model

    private struct Model {
        var values: [String: (data: Data, version: StoreVersion, end: Duration?)] = [:]
        var counts: [String: (value: Int64, end: Duration)] = [:]
        var leases: [String: (lease: StoreLease, end: Duration)] = [:]
    }

    @Test("Random operations have the results of a simple model", arguments: kinds, [1, 2, 3] as [UInt64])
    func model(kind: TestedStore.Kind, seed: UInt64) async throws {
        let tested = try TestedStore(kind)
        let store = tested.store
        var numbers = SeededRandom(seed: seed)
        var model = Model()
        for step in 0..<400 {
            let name = ["a", "b"].randomElement(using: &numbers)!
            let now = tested.time.current
            // Long ones: a server also forgets what has ended by its own clock, which the test does not set.
            let length = Duration.seconds(Int64.random(in: 1...5, using: &numbers) * 100)
            let known = model.values[name].flatMap { $0.end.map { $0 > now } ?? true ? $0 : nil }
            switch Int.random(in: 0..<8, using: &numbers) {
            case 0: tested.time.advance(by: length)
            case 1: #expect(try await store.value(for: name)?.data == known?.data, "step \(step)")
            case 2:
                let lifetime = Bool.random(using: &numbers) ? length : nil
                let isAbsent = Bool.random(using: &numbers)
                let condition: StoreCondition = isAbsent ? .isAbsent : known.map { .isVersion($0.version) } ?? .always
                let data = Data("\(step)".utf8)
                let version = try await store.set(data, for: name, if: condition, lifetime: lifetime, under: nil)
                #expect((version != nil) == (!isAbsent || known == nil), "step \(step)")
                if let version { model.values[name] = (data, version, lifetime.map { now + $0 }) }
            case 3:
                try await store.removeValue(for: name)
                model.values[name] = nil
            case 4:
                var count = model.counts[name].flatMap { $0.end > now ? $0 : nil } ?? (value: 0, end: now + length)
                count.value += 3
                model.counts[name] = count
                let result = try await store.add(3, to: name, window: length)
                #expect(result == StoreCount(value: count.value, remaining: count.end - now), "step \(step)")
            case 5:
                let isFree = model.leases[name].map { $0.end <= now } ?? true
                let lease = try await store.takeLease(name, for: length)
                #expect((lease != nil) == isFree, "step \(step)")
                if let lease { model.leases[name] = (lease, now + length) }
            case 6:
                guard let held = model.leases[name] else { continue }
                #expect(try await store.renew(held.lease, for: length), "step \(step)")
                model.leases[name]?.end = now + length
            default:
                guard let held = model.leases[name] else { continue }
                try await store.release(held.lease)
                model.leases[name] = nil
            }
        }
    }
}
