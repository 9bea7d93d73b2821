import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("A cache that processes share", .limited)
struct SharedResponsesTests {
    @Test("A process gets the response that another one has stored, and then has it itself")
    func hit() async throws {
        let fleet = CacheFleet()
        #expect(await fleet.process().get().cache == .miss)
        await poll { fleet.store.record.releases == 1 }
        let other = fleet.process()
        let response = await other.get()
        guard case .hit? = response.cache else { throw Unexpected(response.cache) }
        #expect(response.value == "text" && fleet.requests.count == 1)
        #expect(other.cache.statistics.sharedHits == 1 && other.cache.statistics.entryCount == 1)
        _ = await other.get()
        #expect(other.cache.statistics.sharedHits == 1 && other.cache.statistics.hits == 2)
        #expect(fleet.requests.count == 1 && other.cache.statistics.sharedFailures == 0)
    }

    @Test(
        "finishStoring waits for the store and for the end of the lease",
        arguments: ["max-age=60", "no-store"])
    func finishStoring(control: String) async throws {
        let fleet = CacheFleet { _ in CacheFleet.fresh("text", control) }
        let process = fleet.process()
        #expect(await process.get().value == "text")
        await process.cache.finishStoring()
        #expect(fleet.store.record.releases == 1 && fleet.store.responses.count == 1)
    }

    @Test("A size beyond that of a store's values is reduced to it")
    func largest() async throws {
        let fleet = CacheFleet()
        _ = await fleet.process(size: .max).get()
        await poll { fleet.store.record.releases == 1 }
        guard case .hit? = await fleet.process(size: .max).get().cache else { throw Unexpected(nil) }
        #expect(SharedResponses(MemoryStore(), maximumSize: .max).maximumSize == 63 << 20)
    }

    @Test("A hundred requests of four processes at once are one request to the server")
    func stampede() async throws {
        let clock = ManualClock()
        let fleet = CacheFleet(clock: clock) { _ in
            var answer = CacheFleet.fresh()
            answer.steps.insert(.wait(.seconds(1)), at: 0)
            return answer
        }
        let processes = (0..<4).map { _ in fleet.process() }
        await withTaskGroup(of: String?.self) { group in
            for process in processes {
                for _ in 0..<25 { group.addTask { await process.get().value } }
            }
            await clock.waitForSleepers()
            await poll { fleet.store.record.refusals >= 3 }
            clock.advance(by: .seconds(1))
            for await text in group { #expect(text == "text") }
        }
        #expect(fleet.requests.count == 1)
        #expect(processes.map(\.cache.statistics.misses).reduce(0, +) == 1)
        // A process may look in the store once more before it finds the response in its own memory.
        #expect(processes.filter { $0.cache.statistics.sharedHits > 0 }.count >= 3)
    }

    @Test("Responses to requests with different credentials are kept apart, and no name or value shows them")
    func partitions() async throws {
        let fleet = CacheFleet()
        for token in ["Bearer secret-1", "Bearer secret-2"] {
            #expect(await fleet.process().get("/", ["Authorization": token]).cache == .miss)
        }
        await poll { fleet.store.record.releases == 2 }
        #expect(await fleet.process().get().cache == .miss)
        await poll { fleet.store.record.releases == 3 }
        #expect(Set(fleet.store.responses).count == 3)
        _ = await fleet.process().get("/", ["Authorization": "Bearer secret-1"])
        #expect(fleet.requests.count == 3)
        for (name, value) in fleet.store.record.values {
            #expect(!name.contains("secret") && value.range(of: Data("secret".utf8)) == nil)
        }
    }

    @Test(
        "A response is shared for the cookies of its request, and with everyone only if it is public",
        arguments: ["max-age=60", "public, max-age=60"])
    func cookies(control: String) async throws {
        let fleet = CacheFleet { request in
            CacheFleet.fresh(request.fields.first { $0.name == "Cookie" }?.value ?? "none", control)
        }
        let isPublic = control.hasPrefix("public")
        for (round, cookie) in ["secret-a", "secret-b", nil, "secret-a", "secret-b", nil].enumerated() {
            let value = await fleet.process().get("/", cookie.map { ["Cookie": $0] } ?? [:]).value
            #expect(value == (isPublic ? "secret-a" : cookie ?? "none"))
            await poll { fleet.store.record.releases == (isPublic ? 1 : min(round + 1, 3)) }
        }
        #expect(fleet.requests.count == (isPublic ? 1 : 3))
        for name in fleet.store.record.values.keys { #expect(!name.contains("secret")) }
    }

    @Test("A response that varies is served to the requests that select it")
    func variants() async throws {
        let fleet = CacheFleet { request in
            let language = request.fields.first { $0.name == "Accept-Language" }?.value ?? "none"
            return CacheFleet.fresh(language, "max-age=60", ["Vary": "Accept-Language"])
        }
        let languages = ["de", "en"]
        for language in languages {
            #expect(await fleet.process().get("/", ["Accept-Language": language]).value == language)
        }
        await poll { fleet.store.record.releases == 2 }
        for language in languages {
            #expect(await fleet.process().get("/", ["Accept-Language": language]).value == language)
        }
        #expect(fleet.requests.count == 2)
        #expect(await fleet.process().get("/", ["Accept-Language": "fr"]).value == "fr")
        #expect(fleet.requests.count == 3)
    }

    @Test("An unsafe request, remove and removeAll remove the response for all processes")
    func removal() async throws {
        let fleet = CacheFleet()
        let changes: [@Sendable (CacheFleet.Process) async throws -> Void] = [
            { _ = await $0.session.request("http://h/", method: .post).serializingString().response },
            { $0.cache.remove(try RequestURL("http://h/")) }, { $0.cache.removeAll() },
        ]
        for change in changes {
            let process = fleet.process()
            _ = await process.get()
            await poll { fleet.store.record.releases == fleet.store.record.leases }
            try await change(process)
            let count = fleet.requests.count
            // This process itself must not get the old response, also before the store knows of the removal.
            #expect(await process.get().cache == .miss)
            #expect(fleet.requests.count == count + 1)
            await poll { fleet.store.record.releases == fleet.store.record.leases }
            let generations = fleet.store.generations
            try await change(process)
            await poll { fleet.store.generations != generations }
        }
        // The last removal is in the store.
        let generation = fleet.store.record.values["test:all"]
        let last = fleet.process()
        last.cache.removeAll()
        await poll { fleet.store.record.values["test:all"] != generation }
        let count = fleet.requests.count
        #expect(await fleet.process().get().cache == .miss)
        #expect(fleet.requests.count == count + 1)
    }

    @Test("A response is stored for its freshness and the time for which it may be stale, up to a limit")
    func lifetimes() async throws {
        let controls = ["max-age=60", "max-age=60, stale-while-revalidate=30, stale-if-error=20", "max-age=5000"]
        let limits: [Duration] = [.seconds(60), .seconds(90), .seconds(1_000)]
        for (control, limit) in zip(controls, limits) {
            let fleet = CacheFleet { _ in CacheFleet.fresh("text", control) }
            _ = await fleet.process().get()
            await poll { fleet.store.record.releases == 1 }
            let name = try #require(fleet.store.responses.first)
            let lifetime = try #require(fleet.store.record.lifetimes[name])
            #expect(lifetime == limit)
        }
    }

    @Test("A response is served with its age until its freshness ends, in all processes at the same time")
    func ages() async throws {
        let fleet = CacheFleet()
        let process = fleet.process()
        #expect(await process.get().cache == .miss)
        await process.cache.finishStoring()
        for age in [0, 30, 59] {
            fleet.time.withLock { $0 = 1_000_000 + Double(age) }
            let response = await fleet.process().get()
            #expect(response.cache == .hit(age: .seconds(age)) && response.head?["Age"] == "\(age)")
        }
        fleet.time.withLock { $0 = 1_000_060 }
        let last = fleet.process()
        #expect(await last.get().cache == .miss)
        await last.cache.finishStoring()
        #expect(await process.get().cache == .hit(age: .zero))
        #expect(fleet.requests.count == 2)
    }

    @Test("A stale response that another process has stored is validated, and stored again")
    func revalidation() async throws {
        let fleet = CacheFleet { request in
            let control = "max-age=0, stale-if-error=60"
            guard request.fields.contains(where: { $0.name == "If-None-Match" }) else {
                return CacheFleet.fresh("text", control, ["ETag": "\"1\""])
            }
            return .response(304, headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
        _ = await fleet.process().get()
        await poll { fleet.store.record.releases == 1 }
        let process = fleet.process()
        let response = await process.get()
        #expect(response.cache == .revalidated && response.value == "text")
        await process.cache.finishStoring()
        guard case .hit? = await fleet.process().get().cache else { throw Unexpected(nil) }
        #expect(fleet.requests.count == 2)
    }

    @Test("A response that another process has stored stays if the server answers its validation with a 429")
    func refusedValidation() async throws {
        let fleet = CacheFleet { request in
            guard request.fields.contains(where: { $0.name == "If-None-Match" }) else {
                return CacheFleet.fresh("text", "max-age=0, stale-if-error=60", ["ETag": "\"1\""])
            }
            guard request.fields.contains(where: { $0.name == "X-Late" }) else { return .response(429) }
            return .response(304, headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
        _ = await fleet.process().get()
        await poll { fleet.store.record.releases == 1 }
        let process = fleet.process()
        _ = await process.get()
        await process.cache.finishStoring()
        let response = await fleet.process().get("/", ["X-Late": "yes"])
        #expect(response.cache == .revalidated && response.value == "text")
        #expect(fleet.requests.count == 3)
    }

    struct Unexpected: Error {
        let outcome: CacheOutcome?
        init(_ outcome: CacheOutcome?) { self.outcome = outcome }
    }
}
