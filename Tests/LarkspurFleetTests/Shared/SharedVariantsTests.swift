import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

@Suite("Variants in a cache that processes share", .limited)
struct SharedVariantsTests {
    /// A server whose response varies by language, and has the number of the request.
    private func level() -> PlainLevel {
        let count = Guarded(0)
        return PlainLevel { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return CacheFleet.fresh("\(number)", "max-age=60", ["Vary": "Accept-Language"])
        }
    }

    private func get(_ level: PlainLevel, _ language: String, _ more: HTTPHeaders = [:]) async -> String? {
        let process = level.process()
        var headers = more
        headers.update(HTTPHeader(name: "Accept-Language", value: language))
        let value = await process.get("/", headers).value
        await process.cache.finishStoring()
        return value
    }

    @Test("The level has at most 32 variants of a URL, the newest ones")
    func limit() async throws {
        let level = level()
        for number in 1...40 { #expect(await get(level, "l\(number)") == "\(number)") }
        #expect(level.record.values.keys.filter { $0.hasPrefix("variant-") }.count == 32)
        for number in 9...40 { #expect(await get(level, "l\(number)") == "\(number)") }
        #expect(level.record.requests.count == 40)
        #expect(await get(level, "l8") == "41")
    }

    @Test("A variant that was stored again counts as a new one, and is on the list once")
    func newest() async throws {
        let level = level()
        for number in 1...32 { _ = await get(level, "l\(number)") }
        level.time.withLock { $0 += 61 }
        _ = await get(level, "l1")
        _ = await get(level, "other")
        #expect(await get(level, "l1") == "33")
        #expect(level.record.values.keys.filter { $0.hasPrefix("variant-") }.count == 32)
    }

    @Test("A variant that was removed does not return with the next variant's list")
    func removed() async throws {
        let level = level()
        #expect(await get(level, "de") == "1")
        // The newer response is in the memory of this process alone, so it removes the shared one.
        #expect(await get(level, "de", ["Cache-Control": "no-cache"]) == "2")
        #expect(await get(level, "en") == "3")
        #expect(await get(level, "de") == "4")
        #expect(await get(level, "en") == "3")
    }

    @Test("A response that varies by other fields replaces the variants before")
    func otherFields() async throws {
        let field = Guarded("Accept-Language")
        let level = PlainLevel { _ in
            CacheFleet.fresh("text", "max-age=60", ["Vary": field.withLock { $0 }])
        }
        for language in ["de", "en"] { _ = await get(level, language) }
        field.withLock { $0 = "Accept" }
        _ = await get(level, "fr")
        #expect(level.record.values.keys.filter { $0.hasPrefix("variant-") }.count == 1)
        _ = await get(level, "de")
        #expect(level.record.requests.count == 3)
    }
}
