import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Gates and destinations of a session", .limited)
struct SessionGateTests {
    private let journal = Journal()

    private func session(_ change: (inout SessionConfiguration) -> Void) -> Session {
        Session(
            configuration: SessionConfiguration(change),
            transport: StubTransport { _ in .text("twelve bytes", contentType: "video/mp4") })
    }

    @Test("A session's gates see the head of every kind of request, before the request's own")
    func order() async throws {
        let session = session {
            $0.responseGates = [
                { [journal] head in
                    journal.note("session \(head.status)")
                    return .allow
                }
            ]
        }
        let request = await session.request("http://a.test/")
        request.onResponseHead { [journal] _ in
            journal.note("own")
            return .allow
        }
        _ = try await request.serializingString().value
        _ = try await session.download("http://a.test/").serializingData().value
        for try await _ in await session.streamRequest("http://a.test/").bytes {}
        #expect(journal.lines == ["session 200", "own", "session 200", "session 200"])
    }

    @Test("A session's gate can cancel a request")
    func cancel() async {
        let session = session { $0.responseGates = [{ $0["Content-Type"] == "video/mp4" ? .cancel : .allow }] }
        let response = await session.request("http://a.test/").serializingData().response
        #expect(response.error?.isCancelled == true)
    }

    @Test("Downloads without a destination use that of the session; a request's own counts more")
    func destination() async throws {
        let folder = try TemporaryFolder()
        let session = session { [place = folder["all"], journal] in
            $0.downloadDestination = .custom { _, head in
                journal.note("\(head.status)")
                return place
            }
        }
        #expect(try await session.download("http://a.test/").serializingFile().value == folder["all"])
        let own = await session.download("http://a.test/", to: .file(folder["own"]))
        #expect(try await own.serializingFile().value == folder["own"])
        #expect(journal.lines == ["200"])
        #expect(try Data(contentsOf: folder["all"]) == Data("twelve bytes".utf8))
    }
}
