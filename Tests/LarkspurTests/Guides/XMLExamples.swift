import Larkspur
import LarkspurTesting
import LarkspurXML
import TestSupport
import Testing

@Suite("The page of LarkspurXML", .limited)
struct XMLExamples {
    @Test("A response is read as XML")
    func feed() async throws {
        let transport = StubTransport { _ in
            .text("<feed><author><name>Ada</name></author></feed>", contentType: "text/xml")
        }
        let session = Session(transport: transport)
        let url = "https://example.com/feed"

        let feed = try await session.request(url).serializingXML().value
        let author = feed["author"]["name"].text
        #expect(author == "Ada")
    }
}
