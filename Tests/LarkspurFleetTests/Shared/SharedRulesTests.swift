import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Requests and values that a cache of processes treats apart", .limited)
struct SharedRulesTests {
    @Test("A HEAD neither uses the level nor changes it, whether its response is stored or not")
    func head() async throws {
        let level = PlainLevel { request in
            request.method == "HEAD"
                ? .response(headers: ["Cache-Control": "max-age=60", "Content-Length": "9"]) : CacheFleet.fresh()
        }
        let first = level.process()
        _ = await first.session.request("http://h/", method: .head).serializingData().response
        await first.cache.finishStoring()
        #expect(level.record.values.isEmpty && level.record.claims.isEmpty)
        let second = level.process()
        _ = await second.get()
        await second.cache.finishStoring()
        let values = level.record.values
        let third = level.process()
        let response = await third.session.request("http://h/", method: .head).serializingData().response
        await third.cache.finishStoring()
        #expect(response.cache == .miss && response.head?["Content-Length"] == "9")
        #expect(level.record.values == values)
        guard case .hit? = await level.process().get().cache else {
            Issue.record("the level has the response")
            return
        }
        #expect(level.record.requests.map(\.method) == ["HEAD", "GET", "HEAD"])
    }

    @Test("A response that its handler does not store is not shared, and its lease ends")
    func doNotCache() async throws {
        let level = PlainLevel()
        let process = level.process()
        let response = await process.session.request("http://h/").cacheResponse(using: .doNotCache)
            .serializingString().response
        #expect(response.value == "text")
        await process.cache.finishStoring()
        await poll { level.record.held.isEmpty }
        #expect(!level.record.values.keys.contains { $0.hasPrefix("response-") })
        #expect(process.cache.statistics.entryCount == 0)
        #expect(await level.process().get().cache == .miss)
        #expect(level.record.claims.count == 2)
    }

    @Test("The level shares the response as its handler has changed it")
    func changed() async throws {
        let level = PlainLevel()
        let process = level.process()
        let response = await process.session.request("http://h/").cacheResponse(
            using: .modify { response in
                response.body = Data("changed".utf8)
            }
        ).serializingString().response
        #expect(response.value == "text")
        await process.cache.finishStoring()
        #expect(await level.process().get().value == "changed")
        #expect(level.record.requests.count == 1)
    }

    @Test("Damaged lists, variants and records of removals are replaced, and never lead to a wrong response")
    func damaged() async throws {
        let level = PlainLevel { request in
            let language = request.fields.first { $0.name == "Accept-Language" }?.value ?? "none"
            return CacheFleet.fresh(language, "max-age=60", ["Vary": "Accept-Language"])
        }
        func check(_ outcomeIsHit: Bool, _ name: String) async {
            let process = level.process()
            let response = await process.get("/", ["Accept-Language": "de"])
            await process.cache.finishStoring()
            var isHit = false
            if case .hit? = response.cache { isHit = true }
            #expect(response.value == "de" && isHit == outcomeIsHit, "\(name)")
        }
        await check(false, "nothing is stored")
        let names = Array(level.record.values.keys)
        #expect(names.count == 4, "two records of removals, a list and a variant")
        for name in names {
            let whole = try #require(level.record.values[name])
            var changed = whole
            changed[whole.count / 2] ^= 1
            for wrong in [Data(), Data("garbage".utf8), whole.dropLast(), whole + [0], changed] {
                level.state.withLock { $0.values[name] = wrong }
                await check(false, name)
                await check(true, name)
            }
        }
    }
}
