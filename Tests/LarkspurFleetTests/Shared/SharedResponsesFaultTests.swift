import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Faults of a cache that processes share", .limited)
struct SharedResponsesFaultTests {
    @Test("A response that must not be stored, or is too large, keeps no process waiting", arguments: [false, true])
    func unshared(isLarge: Bool) async throws {
        let text = String(repeating: "x", count: isLarge ? 2_000 : 10)
        let fleet = CacheFleet { _ in CacheFleet.fresh(text, isLarge ? "max-age=60" : "no-store") }
        await withTaskGroup(of: String?.self) { group in
            for process in (0..<4).map({ _ in fleet.process() }) { group.addTask { await process.get().value } }
            for await value in group { #expect(value == text) }
        }
        await poll { fleet.store.record.releases == fleet.store.record.leases }
        let leases = fleet.store.record.leases
        #expect(await fleet.process().get().value == text)
        #expect(fleet.store.record.leases == leases, "for some time no process takes the lease")
        #expect(fleet.requests.count == 5 && fleet.store.record.values.values.allSatisfy { $0.count < 500 })
    }

    @Test("A damaged value, and one of another name, are removed, and the request goes to the server")
    func damaged() async throws {
        let fleet = CacheFleet { CacheFleet.fresh("\($0.url.target)") }
        for path in ["/a", "/b"] { _ = await fleet.process().get(path) }
        await poll { fleet.store.record.releases == 2 }
        let names = fleet.store.responses.sorted()
        let whole = try #require(fleet.store.record.values[names[0]])
        var changed = whole
        changed[whole.count / 2] ^= 1
        let other = try #require(fleet.store.record.values[names[1]])
        for wrong in [Data(), Data("garbage".utf8), whole.dropLast(), whole + [0], changed, other] {
            let removals = fleet.store.record.removals.count
            try await fleet.store.set(wrong, for: names[0])
            for path in ["/a", "/b"] { #expect(await fleet.process().get(path).value == path) }
            #expect(fleet.store.record.removals.dropFirst(removals).contains(names[0]))
            await poll { fleet.store.record.releases == fleet.store.record.leases }
        }
        #expect(fleet.requests.count == 2 + 6)
    }

    @Test("Random damage of a value is never served")
    func random() async throws {
        let fleet = CacheFleet()
        _ = await fleet.process().get()
        await poll { fleet.store.record.releases == 1 }
        let name = try #require(fleet.store.responses.first)
        let whole = try #require(fleet.store.record.values[name])
        for index in stride(from: 0, to: whole.count, by: 7) {
            var changed = whole
            changed[index] = changed[index] &+ UInt8(index % 250 + 1)
            try await fleet.store.set(changed, for: name)
            let count = fleet.requests.count
            #expect(await fleet.process().get().value == "text")
            #expect(fleet.requests.count == count + 1)
            await poll { fleet.store.record.releases == fleet.store.record.leases }
        }
    }

    @Test("If the store fails, requests go to the server, and one of them says why")
    func failing() async throws {
        let fleet = CacheFleet(FailingStore(MemoryStore(), failures: .max))
        let process = fleet.process()
        guard case .unavailable(let reason)? = await process.get("/a").cache else {
            Issue.record("the failure is not reported")
            return
        }
        #expect(reason.contains("the store is not there"))
        #expect(await process.get("/b").cache == .miss)
        #expect(fleet.requests.count == 2 && process.cache.statistics.sharedFailures >= 1)
    }

    @Test("If the store is slow, a request goes to the server after the timeout, and the next one at once")
    func slow() async throws {
        let store = SlowStore()
        let fleet = CacheFleet(store)
        let clock = ManualClock()
        let process = fleet.process(clock: clock, timeout: .seconds(1))
        let first = Task { await process.get("/a") }
        await clock.waitForSleepers()
        #expect(fleet.requests.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(await first.value.value == "text")
        #expect(await process.get("/b").value == "text")
        #expect(fleet.requests.count == 2)
        store.gate.open()
    }

    @Test("A request that waits for another process ends at its deadline, and at once if it is cancelled")
    func endings() async throws {
        let fleet = CacheFleet { _ in StubAnswer([.stall]) }
        let holder = fleet.process()
        let held = Task { await holder.get() }
        await poll { fleet.requests.count == 1 }
        let response = await fleet.process().get(timeout: .milliseconds(20))
        #expect(response.error?.isTimeout == true)
        let (waiting, refusals) = (fleet.process(), fleet.store.record.refusals)
        let request = Task { await waiting.get() }
        await poll { fleet.store.record.refusals > refusals }
        request.cancel()
        #expect(await request.value.error?.isCancelled == true)
        held.cancel()
        #expect(await held.value.error?.isCancelled == true)
        await poll { fleet.store.record.releases == fleet.store.record.leases }
    }

    /// A store that stores nothing before its gate is opened.
    private final class LateStore: ForwardingStore {
        let base: any SharedStore = LarkspurFleet.MemoryStore()
        let gate = Gate()
        let arrivals = Guarded(0)

        func set(
            _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
        ) async throws(StoreError) -> StoreVersion? {
            arrivals.withLock { $0 += 1 }
            await gate.pass()
            return try await base.set(value, for: key, if: condition, lifetime: lifetime, under: lease)
        }
    }

    @Test("Processes that begin at once with an empty store keep each other's responses")
    func coldStart() async throws {
        let store = LateStore()
        let fleet = CacheFleet(store)
        let paths = ["/a", "/b", "/c"]
        await withTaskGroup(of: String?.self) { group in
            for path in paths {
                let process = fleet.process()
                group.addTask { await process.get(path).value }
            }
            await poll { store.arrivals.withLock { $0 } == paths.count }
            store.gate.open()
            for await value in group { #expect(value == "text") }
        }
        await poll { fleet.store.record.releases == paths.count }
        for path in paths { #expect(await fleet.process().get(path).value == "text") }
        #expect(fleet.requests.count == paths.count)
    }

    @Test("If the process that asks fails, another one asks")
    func takeover() async throws {
        let count = Guarded(0)
        let fleet = CacheFleet { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? .failure(.connectionLost) : CacheFleet.fresh()
        }
        #expect(await fleet.process().get().value == nil)
        #expect(await fleet.process().get().value == "text")
    }

    @Test("While a process waits for the server, it renews its lease; when it stands still, one of the others asks")
    func renewal() async throws {
        let clock = ManualClock()
        let start = clock.now
        let count = Guarded(0)
        let fleet = CacheFleet(MemoryStore(now: { .seconds(100) + start.duration(to: clock.now) })) { _ in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? StubAnswer([.stall]) : CacheFleet.fresh()
        }
        let running = ManualClock()
        let holder = fleet.process(clock: running)
        let held = Task { await holder.get() }
        await poll { fleet.requests.count == 1 }
        let others = (0..<3).map { _ in fleet.process(clock: clock) }
        let responses = others.map { other in Task { await other.get() } }
        await poll { fleet.store.record.refusals >= 3 }
        for round in 1...4 {
            await running.waitForSleepers()
            running.advance(by: .seconds(5))
            await poll { fleet.store.record.renewals == round }
            let refusals = fleet.store.record.refusals
            clock.advance(by: .seconds(5))
            await poll { fleet.store.record.refusals >= refusals + 3 }
            #expect(fleet.requests.count == 1)
        }
        clock.advance(by: .seconds(16))
        for response in responses { #expect(await response.value.value == "text") }
        #expect(fleet.requests.count == 2)
        held.cancel()
        #expect(await held.value.error?.isCancelled == true)
    }

    @Test("Sealed responses cannot be read, and a process with another key does not use them")
    func sealed() async throws {
        let keys = try (1...2).map { try SealingKey([UInt8](repeating: $0, count: 32)) }
        let fleet = CacheFleet { _ in CacheFleet.fresh("confidential") }
        _ = await fleet.process(sealedBy: keys[0]).get()
        await poll { fleet.store.record.releases == 1 }
        #expect(fleet.store.record.values.values.allSatisfy { $0.range(of: Data("confidential".utf8)) == nil })
        #expect(await fleet.process(sealedBy: keys[0]).get().value == "confidential")
        #expect(fleet.requests.count == 1)
        #expect(await fleet.process(sealedBy: keys[1]).get().value == "confidential")
        #expect(fleet.requests.count == 2)
        #expect(!"\(SharedResponses(fleet.store, sealedBy: keys[0]))".contains("1, 1"))
    }
}
