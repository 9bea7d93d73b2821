import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to archives, word for word.

@Suite("The guide to archives", .limited)
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

    @Test("An archive is read, changed and written")
    func reading() throws {
        let folder = try TemporaryFolder()
        let file = folder["archive.har"]
        let entries = [200, 304].map { status in
            HARArchive.Entry(startedAt: Date(), request: .init(url: "http://h/"), response: .init(status: status))
        }
        try HARArchive(entries: entries).write(to: file)

        var archive = try HARArchive(contentsOf: file)
        archive.entries.removeAll { $0.response.status == 304 }
        try archive.write(to: file)

        #expect(try HARArchive(contentsOf: file).entries.map(\.response.status) == [200])
    }

    @Test("A cassette plays a recording")
    func playing() async throws {
        let folder = try TemporaryFolder()
        let file = folder["users.har"]
        let recorded = HARArchive.Entry(
            startedAt: Date(), request: .init(url: "https://api.example.com/users/7"),
            response: .init(status: 200, body: .init(Data(#"{"name": "Ada"}"#.utf8))))
        try HARArchive(entries: [recorded]).write(to: file)

        let cassette = try Cassette(har: file)
        let session = Session(transport: cassette)
        let user = try await session.request("https://api.example.com/users/7")
            .serializingJSON().value
        #expect(user["name"] == "Ada" && cassette.unplayed.isEmpty)

        let matching = Cassette.Matching(
            fields: ["Accept-Language"], ignoringQueryItems: ["time"],
            body: .equal)
        let strict = try Cassette(
            har: file, matching: matching, order: .recorded)

        let other = Session(configuration: SessionConfiguration { $0.headers = [:] }, transport: strict)
        #expect(try await other.request("https://api.example.com/users/7?time=1").serializingJSON().value == user)
    }

    #if os(Linux)
        @Test("A cassette records what it does not have")
        func recordingWhatIsMissing() async throws {
            let folder = try TemporaryFolder()
            let (file, server) = (folder["users.har"], try MockServer { _ in .json("[1, 2]") })
            let url = server.url
            for _ in 1...2 {

                let fixture = try Cassette(
                    har: file, unknown: .record(from: CurlTransport()))
                let users = try await Session(transport: fixture).request(url)
                    .serializingJSON().value
                try await fixture.finish()

                #expect(users == [1, 2])
            }
            #expect(server.requests.count == 1)
        }
    #endif
}
