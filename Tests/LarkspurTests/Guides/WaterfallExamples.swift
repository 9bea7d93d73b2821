import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to pictures of requests, word for word.

@Suite("The guide to pictures of requests", .limited)
struct WaterfallExamples {
    @Test("An archive is drawn")
    func archive() throws {
        let folder = try TemporaryFolder()
        let (file, page) = (folder["archive.har"], folder["page.html"])
        try HARArchive().write(to: file)

        let archive = try HARArchive(contentsOf: file)
        try Waterfall(archive).write(to: page)

        #expect(try String(contentsOf: page, encoding: .utf8).hasPrefix("<!DOCTYPE html>"))
    }

    @Test("A running program is drawn")
    func program() async throws {
        let folder = try TemporaryFolder()
        let (page, server) = (folder["page.html"], try MockServer { _ in .text("users") })
        let url = server.url

        let recorder = WaterfallRecorder()
        let session = Session(eventMonitors: [recorder])
        let users = try await session.request(url).serializingString().value
        try await recorder.waterfall(title: "Users").write(to: page)

        #expect(users == "users")
        #expect(try String(contentsOf: page, encoding: .utf8).contains("<title>Users</title>"))
    }
}
