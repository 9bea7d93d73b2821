import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("The right to ask the server for a shared response", .limited)
struct SharedTurnTests {
    private static func part() -> StubAnswer {
        .response(206, headers: ["Content-Range": "bytes 0-1/4", "Content-Length": "2"], chunks: [Data("te".utf8)])
    }

    private static func isRanged(_ request: TransportRequest) -> Bool {
        request.fields.contains { $0.name == "Range" }
    }

    @Test("A request for a part waits neither for another process, nor for a request of its own that does")
    func ranges() async throws {
        let fleet = CacheFleet { Self.isRanged($0) ? Self.part() : StubAnswer([.stall]) }
        let (holder, process) = (fleet.process(), fleet.process())
        let held = Task { await holder.get() }
        await poll { fleet.requests.count == 1 }
        let waiting = Task { await process.get() }
        await poll { fleet.store.record.refusals > 0 }
        #expect(await process.get("/", ["Range": "bytes=0-1"]).value == "te")
        #expect(await fleet.process().get("/", ["Range": "bytes=0-1"]).value == "te")
        #expect(fleet.store.record.leases == 1 && fleet.requests.count == 3)
        for request in [held, waiting] {
            request.cancel()
            #expect(await request.value.error?.isCancelled == true)
        }
    }

    @Test("A part of a shared response comes from the level")
    func partOfShared() async throws {
        let level = PlainLevel()
        let process = level.process()
        _ = await process.get()
        await process.cache.finishStoring()
        let response = await level.process().get("/", ["Range": "bytes=0-1"])
        #expect(response.value == "te" && response.head?.status == 206)
        #expect(level.record.requests.count == 1 && level.record.claims.count == 1)
    }

    @Test(
        "Processes do not wait for each other with a response that each request validates",
        arguments: ["no-cache, max-age=60", "max-age=0, stale-if-error=60"])
    func validated(control: String) async throws {
        let level = PlainLevel { request in
            guard request.fields.contains(where: { $0.name == "If-None-Match" }) else {
                return CacheFleet.fresh("text", control, ["ETag": "\"1\""])
            }
            return .response(304, headers: ["ETag": "\"1\""])
        }
        for index in 0..<3 {
            let process = level.process()
            let response = await process.get()
            await process.cache.finishStoring()
            #expect(response.value == "text" && response.cache == (index == 0 ? .miss : .revalidated))
        }
        #expect(level.record.requests.count == 3 && level.record.claims.count == 1)
    }

    @Test("A process stops waiting when the response turns out to need a validation by each request")
    func validatedLater() async throws {
        let clock = ManualClock()
        let fleet = CacheFleet(clock: clock) { request in
            guard request.fields.contains(where: { $0.name == "If-None-Match" }) else {
                var answer = CacheFleet.fresh("text", "no-cache, max-age=60", ["ETag": "\"1\""])
                answer.steps.insert(.wait(.seconds(1)), at: 0)
                return answer
            }
            return .response(304, headers: ["ETag": "\"1\""])
        }
        await withTaskGroup(of: String?.self) { group in
            for process in (0..<4).map({ _ in fleet.process() }) { group.addTask { await process.get().value } }
            await clock.waitForSleepers()
            await poll { fleet.store.record.refusals >= 3 }
            clock.advance(by: .seconds(1))
            for await text in group { #expect(text == "text") }
        }
        #expect(fleet.requests.count == 4 && fleet.store.record.leases == 1)
    }

    @Test("A request that accepts no stored response without a validation does not wait, and stores the new response")
    func validating() async throws {
        let level = PlainLevel()
        let process = level.process()
        #expect(await process.get("/", ["Cache-Control": "max-age=0"]).cache == .miss)
        await process.cache.finishStoring()
        #expect(level.record.claims.isEmpty)
        guard case .hit? = await level.process().get().cache else {
            Issue.record("the response was not shared")
            return
        }
    }
}
