import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurCache
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Removals from a cache that processes share", .limited)
struct SharedRemovalTests {
    private let url = "http://h/"

    /// Stores a response in the level, and removes it while the level takes no values.
    private func removed(_ level: PlainLevel, _ process: CacheFleet.Process) async throws {
        _ = await process.get()
        await process.cache.finishStoring()
        level.refuseWrites(true)
        let writes = level.record.writes
        process.cache.remove(try RequestURL(url))
        await poll { level.record.writes > writes }
    }

    @Test("A removal that the level did not take is tried again after growing pauses, without another request")
    func retried() async throws {
        let (level, clock) = (PlainLevel(), ManualClock())
        let process = level.process(clock: clock)
        try await removed(level, process)
        for pause in [2, 4, 8, 16, 32, 64, 64] {
            await clock.waitForSleepers()
            let writes = level.record.writes
            clock.advance(by: .seconds(pause) - .nanoseconds(1))
            #expect(clock.sleepers == 1, "the pause is not over")
            clock.advance(by: .nanoseconds(1))
            await poll { level.record.writes > writes }
        }
        guard case .hit? = await level.process().get().cache else {
            Issue.record("the level has the response as long as it takes no removal")
            return
        }
        await clock.waitForSleepers()
        let generation = level.generation
        level.refuseWrites(false)
        clock.advance(by: .seconds(64))
        await poll { clock.sleepers == 0 && level.generation != generation }
        #expect(await level.process().get().cache == .miss)
        #expect(level.record.requests.count == 2)
    }

    @Test("If a process ends before the store takes its removal, others use the response until its lifetime ends")
    func endedProcess() async throws {
        let store = FailingStore(LarkspurFleet.MemoryStore(), failures: 0)
        let fleet = CacheFleet(store)
        let clock = ManualClock()  // It stands still, so the removal is not tried again.
        do {
            let process = fleet.process(clock: clock)
            _ = await process.get()
            await process.cache.finishStoring()
            store.failNext(.max)
            process.cache.remove(try RequestURL(url))
            await clock.waitForSleepers()
        }
        store.failNext(0)
        #expect(await fleet.process().get().value == "text")
        #expect(fleet.requests.count == 1, "the response of the ended process is used")
        fleet.time.withLock { $0 += 61 }
        #expect(await fleet.process().get().value == "text")
        #expect(fleet.requests.count == 2, "its lifetime has ended")
    }

    @Test("After the last pause, the process does not use the level before it has removed all responses")
    func givenUp() async throws {
        let (level, clock) = (PlainLevel(), ManualClock())
        let process = level.process(clock: clock)
        for path in ["/other", "/new"] {
            let other = level.process()
            _ = await other.get(path)
            await other.cache.finishStoring()
        }
        try await removed(level, process)
        for _ in 0..<20 {
            await clock.waitForSleepers()
            let writes = level.record.writes
            clock.advance(by: .seconds(64))
            await poll { level.record.writes > writes }
        }
        await clock.waitForNoSleepers()
        process.cache.remove(try RequestURL("http://h/third"))
        let unused = await process.get("/new").cache
        guard case .unavailable? = unused else {
            Issue.record("\(String(describing: unused))")
            return
        }
        #expect(clock.sleepers == 0)
        level.refuseWrites(false)
        #expect(await process.get("/newer").cache == .miss)
        await process.cache.finishStoring()
        #expect(await level.process().get("/other").cache == .miss, "all responses are removed")
        guard case .hit? = await level.process().get("/newer").cache else {
            Issue.record("the process uses the level again")
            return
        }
    }

    @Test("finishStoring tries a removal once more, and again after a pause")
    func finishStoring() async throws {
        let (level, clock) = (PlainLevel(), ManualClock())
        let process = level.process(clock: clock)
        try await removed(level, process)
        await clock.waitForSleepers()
        let finished = Task { await process.cache.finishStoring() }
        await clock.waitForSleepers(2)
        level.refuseWrites(false)
        clock.advance(by: .seconds(2))
        await finished.value
        #expect(await level.process().get().cache == .miss)

        try await removed(level, process)
        level.refuseWrites(false)
        await process.cache.finishStoring()
        #expect(await level.process().get().cache == .miss)
    }

    @Test(
        "If the level loses what it knows of removals, the removed responses stay removed, and new ones are shared",
        arguments: [false, true])
    func lost(isAll: Bool) async throws {
        let level = PlainLevel()
        let process = level.process()
        _ = await process.get()
        await process.cache.finishStoring()
        if isAll { process.cache.removeAll() } else { process.cache.remove(try RequestURL(url)) }
        await process.cache.finishStoring()
        level.state.withLock { state in state.values = state.values.filter { $0.key.hasPrefix("response-") } }
        #expect(level.record.values.count == 1)
        let other = level.process()
        #expect(await other.get().cache == .miss)
        await other.cache.finishStoring()
        guard case .hit? = await level.process().get().cache else {
            Issue.record("the new response is not shared")
            return
        }
        #expect(level.record.requests.count == 2)
    }

    @Test("A response that was in flight during the first removal of its URL is not shared")
    func inFlight() async throws {
        let others = Guarded<[CacheFleet.Process]>([])
        let level = PlainLevel { request in
            for other in others.withLock({ $0 }) { other.cache.remove(request.url) }
            return CacheFleet.fresh()
        }
        let (process, other) = (level.process(), level.process())
        others.withLock { $0 = [other] }
        #expect(await process.get().cache == .miss)
        for process in [process, other] { await process.cache.finishStoring() }
        others.withLock { $0 = [] }
        #expect(await level.process().get().cache == .miss)
    }
}
