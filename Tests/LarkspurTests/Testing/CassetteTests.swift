import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

@Suite("Cassettes", .limited)
struct CassetteTests {
    @Test("An entry with the method and the URL answers, each entry once")
    func plays() async throws {
        let cassette = Cassette(
            HARArchive(entries: [
                .get("http://h/a?x=1&y=2#top", "first"), .get("http://h/a?y=2&x=1", "second"),
                .init(method: "POST", "http://h/a?x=1&y=2", "created", status: 201),
            ]))
        let session = Session(transport: cassette)
        #expect(try await session.request("http://h/a?y=2&x=1").serializingString().value == "first")
        #expect(cassette.unplayed.map(\.response.status) == [200, 201])
        #expect(try await session.request("http://h/a?y=2&x=1#x").serializingString().value == "second")
        let created = await session.request("http://h/a?x=1&y=2", method: .post).serializingString().response
        #expect(created.head?.status == 201 && cassette.unplayed.isEmpty && cassette.playCount == 3)
    }

    @Test("An unknown request fails, and the error names the nearest entries without secrets")
    func unknown() async throws {
        let cassette = Cassette(
            HARArchive(entries: [
                .get("http://h/users/7?token=s3cret", "Ada"), .get("http://other/", "x"), .get("http://h/users", "all"),
                .init(method: "DELETE", "http://h/users/8?token=s3cret", ""), .get("http://h/a/b/c/d", "far"),
            ]))
        let session = Session(transport: cassette)
        let error = await session.request("http://h/users/8?token=t0psecret").serializingString().response.error
        #expect(error?.code == .notRecorded)
        let nearest = "3: DELETE http://h/users/8?token=REDACTED; 0: GET http://h/users/7?token=REDACTED; 2: GET "
        #expect(error?.message.contains("no entry for GET http://h/users/8?token=REDACTED") == true)
        #expect(error?.message.contains(nearest) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("s3cret") == false && error?.message.contains("t0psecret") == false)
        _ = try await session.request("http://other/").serializingString().value
        let again = await session.request("http://other/").serializingString().response.error
        #expect(again?.message.contains("1: GET http://other/ (already played)") == true)
        #expect(cassette.unplayed.count == 4)
        let none = await Session(transport: Cassette(HARArchive())).request("http://h/").serializingData().response
        #expect(none.error?.message.contains("the cassette has no entries; the request was GET http://h/") == true)
    }

    @Test("With the recorded order, only the next entry answers")
    func order() async throws {
        let archive = HARArchive(entries: [.get("http://h/a", "1"), .get("http://h/b", "2"), .get("http://h/a", "3")])
        let cassette = Cassette(archive, order: .recorded)
        let session = Session(transport: cassette)
        let early = await session.request("http://h/b").serializingString().response
        #expect(early.error?.code == .notRecorded)
        #expect(early.error?.message.contains("expected 0: GET http://h/a") == true)
        for (path, body) in [("a", "1"), ("b", "2"), ("a", "3")] {
            #expect(try await session.request("http://h/" + path).serializingString().value == body)
        }
        #expect(await session.request("http://h/a").serializingString().response.error?.code == .notRecorded)
    }

    @Test("With repeats, the last matching entry answers again", arguments: [Cassette.Order.any, .recorded])
    func repeats(order: Cassette.Order) async throws {
        let archive = HARArchive(entries: [.get("http://h/a", "1"), .get("http://h/a", "2")])
        let session = Session(transport: Cassette(archive, order: order, repeats: true))
        var bodies: [String] = []
        for _ in 0..<4 { bodies.append(try await session.request("http://h/a").serializingString().value) }
        #expect(bodies == ["1", "2", "2", "2"])
    }

    @Test("Heads and bodies arrive as late as recorded, or later by a factor")
    func timing() async throws {
        var entry = HARArchive.Entry.get("http://h/a", String(repeating: "x", count: 40_000))
        entry.timings.wait = .seconds(2)
        entry.timings.receive = .seconds(3)
        for (timing, factor) in [(Cassette.Timing.recorded, 1.0), (.scaled(by: 10), 10)] {
            let clock = ManualClock()
            let session = Session(
                transport: Cassette(HARArchive(entries: [entry]), timing: timing, clock: clock))
            async let value = session.request("http://h/a").serializingString().value
            for seconds in [2.0, 1, 1, 1] {
                await clock.waitForSleepers()
                clock.advance(by: .seconds(seconds * factor))
            }
            #expect(try await value.count == 40_000)
            #expect(clock.now == ManualClock().now.advanced(by: .seconds(5 * factor)))
        }
        for timing in [Cassette.Timing.immediate, .scaled(by: -1), .scaled(by: .nan), .scaled(by: .infinity)] {
            let session = Session(
                transport: Cassette(HARArchive(entries: [entry]), timing: timing, clock: ManualClock()))
            #expect(try await session.request("http://h/a").serializingString().value.count == 40_000)
        }
    }

    @Test(
        "An entry without a response fails as recorded",
        arguments: [
            ("no server listens (connectionRefused while connecting)", "connectionRefused"),
            ("net::ERR_NAME_NOT_RESOLVED", "nameLookup"), ("net::ERR_CONNECTION_TIMED_OUT", "timedOut"),
            ("net::ERR_CERT_DATE_INVALID", "untrusted"), ("net::ERR_ABORTED", "connectionLost"),
            ("the request was cancelled (cancelled)", "connectionLost"), ("", "connectionLost"),
        ])
    func failures(text: String, code: String) async throws {
        var entry = HARArchive.Entry.get("http://h/a", "", status: 0)
        entry.error = text.isEmpty ? nil : text
        let session = Session(transport: Cassette(HARArchive(entries: [entry])))
        #expect(await session.request("http://h/a").serializingData().response.error?.code.rawValue == code)
    }

    @Test("A body that ended early is played, and then fails; a missing body is an error")
    func brokenBodies() async throws {
        var broken = HARArchive.Entry.get("http://h/broken", "half")
        broken.error = "the peer closed the connection (connectionLost while receiving)"
        broken.response.headers = ["Content-Length": "8"]
        var missing = HARArchive.Entry.get("http://h/missing", "")
        missing.response.body = HARArchive.Body(nil, size: 100)
        missing.response.body.comment = "the body is encoded, and was left out"
        var cut = HARArchive.Entry.get("http://h/cut", "hal")
        (cut.response.body.size, cut.response.body.comment) = (4, "the recorded body is not complete")
        let session = Session(transport: Cassette(HARArchive(entries: [broken, missing, cut])))
        let pieces = await session.streamRequest("http://h/broken").serializingCollected()
        #expect(pieces.bytes == Data("half".utf8) && pieces.error?.code == .connectionLost)
        let lack = await session.request("http://h/missing").serializingData().response.error
        #expect(lack?.code == .notRecorded)
        #expect(lack?.message.contains("entry 1 of the cassette cannot be played: the body is encoded") == true)
        #expect(await session.request("http://h/cut").serializingData().response.error?.code == .notRecorded)
    }

    @Test("A file that is missing or no archive is an error")
    func files() throws {
        let folder = try TemporaryFolder()
        #expect(throws: RequestError.self) { try Cassette(har: folder["none.har"]) }
        try Data("{}".utf8).write(to: folder["empty.har"])
        let error = #expect(throws: RequestError.self) { try Cassette(har: folder["empty.har"]) }
        #expect(error?.code == .invalidArchive)
    }
}

extension DataStreamRequest {
    /// Returns all bytes of the stream, and its error.
    fileprivate func serializingCollected() async -> (bytes: Data, error: RequestError?) {
        var bytes = Data()
        do {
            for try await piece in self.bytes { bytes += piece }
            return (bytes, nil)
        } catch {
            return (bytes, error as? RequestError)
        }
    }
}

extension HARArchive.Entry {
    /// Creates an entry of a request without a body, with a text as its response.
    init(method: String, _ url: String, _ text: String, status: Int = 200) {
        self.init(
            startedAt: Date(timeIntervalSince1970: 0), request: .init(method: method, url: url),
            response: .init(status: status, headers: [:], body: .init(Data(text.utf8), mimeType: "text/plain")))
    }

    static func get(_ url: String, _ text: String, status: Int = 200) -> HARArchive.Entry {
        HARArchive.Entry(method: "GET", url, text, status: status)
    }
}
