import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Equal requests of a session with a cache at the same time", .limited)
struct SharedMissTests {
    @Test("A server sees one of a hundred equal GETs, and all requests get the whole response")
    func hundred() async throws {
        let gate = Gate()
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let server = try MockServer { _ in
            await gate.pass()
            return .response(headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"], chunks: [body])
        }
        let session = Session(configuration: SessionConfiguration { $0.cache = .inMemory() })
        var requests: [DataTask<Data>] = []
        for _ in 0..<100 { requests.append(await session.request(server.url + "/page").serializingData()) }
        await gate.arrived()
        gate.open()
        var outcomes: [CacheOutcome?] = []
        for request in requests {
            let response = await request.response
            #expect(response.value == body)
            outcomes.append(response.cache)
        }
        #expect(server.requests.count == 1)
        #expect(outcomes.count { $0 == .miss } == 1 && outcomes.allSatisfy { $0 != nil })
    }
}
