import Dispatch
import Larkspur
import LarkspurInsight
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTesting

@Suite("Cassettes in corner cases", .limited)
struct CassetteCornerTests {
    @Test(
        "Secrets that a request marks are not recorded, not named in errors, and do not have to agree",
        arguments: [APIKeyAuthentication.Place.query("appid"), .header("X-Tenant")])
    func markedSecrets(place: APIKeyAuthentication.Place) async throws {
        let folder = try TemporaryFolder()
        let file = folder["marked.har"]
        let server = StubTransport { request in
            request.url.path == "/a" ? .redirect(to: "/b?page=1&appid=s3cret") : .text("ok")
        }
        let recording = Cassette(recordingTo: file, from: server)
        let recorded = Session(transport: recording, interceptor: .apiKey("s3cret", in: place))
        #expect(try await recorded.request("http://h/a?page=1").serializingString().value == "ok")
        try await recording.finish()
        #expect(try place == .header("X-Tenant") || !String(contentsOf: file, encoding: .utf8).contains("s3cret"))
        #expect(try HARArchive(contentsOf: file).entries.allSatisfy { $0.request.headers["X-Tenant"] != "s3cret" })

        let cassette = try Cassette(har: file, matching: .init(fields: ["X-Tenant"]))
        let played = Session(transport: cassette, interceptor: .apiKey("0ther", in: place))
        #expect(try await played.request("http://h/a?page=1").serializingString().value == "ok")
        let error = await played.request("http://h/a?page=1").serializingString().response.error
        #expect(error?.code == .notRecorded && error?.message.contains("0ther") == false)
    }

    @Test("A marked secret that an archive has is compared, and not named in errors")
    func markedSecretsInArchives() async throws {
        let cassette = Cassette(HARArchive(entries: [.get("http://h/?appid=s3cret", "ok")]))
        let session = Session(transport: cassette, interceptor: .apiKey("s3cret", in: .query("appid")))
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        let error = await session.request("http://h/").serializingString().response.error
        #expect(error?.code == .notRecorded && error?.message.contains("s3cret") == false)
        #expect(error?.message.contains("0: GET http://h/?appid=REDACTED (already played)") == true)
    }

    @Test("Texts that are hidden as a whole do not have to agree in their length")
    func hiddenTexts() async throws {
        var entry = HARArchive.Entry(method: "POST", "http://h/", "ok")
        entry.request.body = .init(Data("REDACTED (11 bytes)".utf8), mimeType: "text/plain")
        entry.request.headers = ["Content-Type": "text/plain"]
        let session = Session(transport: Cassette(HARArchive(entries: [entry]), matching: .init(body: .equal)))
        let other = await session.upload(.data(Data("name: Ada".utf8), type: "text/plain"), to: "http://h/")
            .serializingString().response
        #expect(other.error?.code == .notRecorded)
        let text = try await session.upload(.data(Data("password: longer".utf8), type: "text/plain"), to: "http://h/")
            .serializingString().value
        #expect(text == "ok")
    }

    @Test("URLs that are spelled differently are the same")
    func spellings() async throws {
        let cassette = Cassette(
            HARArchive(entries: [
                .get("HTTP://H:80/%7euser?q=%c3%a4&r=a|b#x", "spelled"), .get("http://h", "root"),
            ]))
        let session = Session(transport: cassette)
        #expect(try await session.request("http://h/~user?r=a|b&q=%C3%A4").serializingString().value == "spelled")
        #expect(try await session.request("http://h:80/").serializingString().value == "root")
    }

    @Test("Empty fields are played, and line ends of an archive make no further fields")
    func fields() async throws {
        var entry = HARArchive.Entry.get("http://h/", "ok", status: 302)
        entry.response.headers = [
            HTTPHeader(name: "X-Empty", value: ""), HTTPHeader(name: "Content-Type", value: "text/plain\r\nX-Type: 1"),
        ]
        entry.response.redirectURL = "/a\r\nX-Target: 1"
        entry.response.trailers = [
            HTTPHeader(name: "X-Sum", value: "1\r\nX-Trailer: 1"), HTTPHeader(name: "", value: ""),
        ]
        let session = Session(
            configuration: SessionConfiguration {
                $0.redirectHandler = .doNotFollow
                $0.validation = []
            }, transport: Cassette(HARArchive(entries: [entry])))
        let response = await session.request("http://h/").serializingString().response
        #expect(response.head?["X-Empty"] == "")
        #expect(response.head?["X-Type"] == nil && response.head?["X-Target"] == nil)
        #expect(response.head?["Content-Type"] == "text/plain X-Type: 1")
        #expect(response.trailers?["X-Sum"] == "1 X-Trailer: 1" && response.trailers?["X-Trailer"] == nil)
    }

    @Test("An upgraded connection does not answer another request")
    func upgrade() async throws {
        let session = Session(transport: Cassette(HARArchive(entries: [.get("wss://h/chat", "", status: 101)])))
        let error = await session.request("https://h/chat").serializingData().response.error
        #expect(error?.code == .notRecorded, "\(error?.message ?? "")")
    }

    @Test("With repeats, two requests at once are answered by two entries")
    func repeatsAtOnce() throws {
        let request = CassetteRequest(TransportRequest(url: try RequestURL("http://h/")))
        let other = Protected<Cassette?>(nil)
        let cassette = Cassette(
            HARArchive(entries: [.get("http://h/", "1"), .get("http://h/", "2")]),
            matching: .init(
                body: .matched { _, _ in
                    // The other request comes while the first one is compared.
                    _ = other.withLock { $0.take() }?.choose(request)
                    return true
                }), repeats: true)
        other.withLock { $0 = cassette }
        _ = cassette.choose(request)
        #expect(cassette.unplayed.isEmpty && cassette.playCount == 2)
    }

    @Test("Bodies are compared until an entry fits, and no further")
    func comparisons() throws {
        let count = Protected(0)
        let cassette = Cassette(
            HARArchive(entries: (0..<100).map { .get("http://h/", "\($0)") }),
            matching: .init(
                body: .matched { _, _ in
                    count.withLock { $0 += 1 }
                    return true
                }))
        _ = cassette.choose(CassetteRequest(TransportRequest(url: try RequestURL("http://h/"))))
        #expect(count.withLock { $0 } == 1)
    }

    @Test("A run that records nothing leaves the file as it is")
    func untouched() async throws {
        let folder = try TemporaryFolder()
        let file = folder["browser.har"]
        let text = """
            {"log": {"pages": [], "entries": [{"startedDateTime": "2026-11-26T10:02:08Z", "_initiator": "script",
            "request": {"method": "GET", "url": "http://h/"}, "response": {"status": 204}}]}}
            """
        try Data(text.utf8).write(to: file)
        let cassette = try Cassette(har: file, unknown: .record(from: StubTransport { _ in .text("new") }))
        let response = await Session(transport: cassette).request("http://h/").serializingData().response
        #expect(response.head?.status == 204)
        try await cassette.finish()
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
        // A recording from the beginning replaces the file, even if there was no request.
        try await Cassette(recordingTo: file, from: StubTransport { _ in .text("new") }).finish()
        #expect(try HARArchive(contentsOf: file).entries.isEmpty)
    }

    @Test("A task that is suspended while its request's body is read stays suspended")
    func suspended() throws {
        let cassette = Cassette(
            HARArchive(entries: [.get("http://h/", String(repeating: "x", count: 1 << 20))]),
            matching: .init(body: .matched { _, _ in true }))
        let body = HeldStream()
        let hop = CountedHop()
        let source = TransportBodySource(length: nil, isReplayable: false) { body }
        let task = cassette.task(
            for: TransportRequest(url: try RequestURL("http://h/"), body: .stream(source)), id: TransportTaskID(1),
            delegate: hop)
        task.resume()
        task.suspend()
        body.finish()
        hop.hasHead.wait()
        #expect(hop.pieces.withLock { $0 } <= 1)
        task.resume()
        hop.isOver.wait()
        #expect(hop.pieces.withLock { $0 } == 16 && body.isEnded.withLock { $0 })
    }
}

/// A body without bytes, which ends when the test says so.
private final class HeldStream: TransportBodyStream {
    let isEnded = Protected(false)
    private let isOver = Protected(false)
    private let wake = Protected<(@Sendable () -> Void)?>(nil)

    func begin(wake: @escaping @Sendable () -> Void) { self.wake.withLock { $0 = wake } }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        isOver.withLock { $0 } ? .end : .pending
    }
    func end() { isEnded.withLock { $0 = true } }

    func finish() {
        isOver.withLock { $0 = true }
        wake.withLock { $0 }?()
    }
}

/// A delegate that counts the pieces of the body.
private final class CountedHop: TransportDelegate {
    let pieces = Protected(0)
    let hasHead = DispatchSemaphore(value: 0)
    let isOver = DispatchSemaphore(value: 0)

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .head: hasHead.signal()
        case .body: pieces.withLock { $0 += 1 }
        case .completed: isOver.signal()
        default: break
        }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {}
}
