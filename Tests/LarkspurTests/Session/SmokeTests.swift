import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite(.limited)
struct SmokeTests {
    @Test func aGetDeliversItsBody() async throws {
        let session = Session(transport: StubTransport { _ in .json(#"{"setup": "knock"}"#) })
        let joke = try await session.request("http://example.com/joke").serializingJSON().value
        #expect(joke["setup"].string == "knock")
    }

    #if os(Linux)
        @Test("The session that is there without being made sends requests")
        func defaultSession() async throws {
            let server = try MockServer { _ in .text("hello") }
            #expect(try await Session.default.request(server.url).serializingString().value == "hello")
            await server.stop()
        }
    #endif
}
