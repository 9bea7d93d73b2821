import Larkspur
import LarkspurTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct SmokeTests {
    @Test func aGetDeliversItsBody() async throws {
        let session = Session(transport: StubTransport { _ in .json(#"{"setup": "knock"}"#) })
        let joke = try await session.request("http://example.com/joke").serializingJSON().value
        #expect(joke["setup"].string == "knock")
    }
}
