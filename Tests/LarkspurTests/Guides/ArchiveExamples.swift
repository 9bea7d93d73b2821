import Larkspur
import LarkspurInsight
import LarkspurTesting
import Testing

// The code of the guide to archives, word for word.

@Suite("The guide to archives", .timeLimit(.minutes(3)))
struct ArchiveExamples {
    @Test("A recorder writes a file")
    func recording() async throws {
        let folder = try TemporaryFolder()
        let (file, server) = (folder["archive.har"], try MockServer { _ in .text("users") })
        let url = server.url

        let har = HARRecorder(to: file)
        let session = Session(eventMonitors: [har])
        let users = try await session.request(url).serializingString().value
        try await har.finish()

        #expect(users == "users")
        let entries = try JSON(data: Data(contentsOf: file))["log"]["entries"]
        #expect(entries[0]["response"]["content"]["text"] == "users")
    }
}
