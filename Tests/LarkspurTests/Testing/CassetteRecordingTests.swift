import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

@Suite("Cassettes that record", .limited)
struct CassetteRecordingTests {
    private static let server = StubTransport { request in
        switch request.url.path {
        case "/old": .redirect(to: "/new?token=s3cret")
        case "/new": .json(#"{"name": "Ada", "password": "s3cret"}"#)
        case "/upload": .text("saved", status: 201)
        case "/trailers":
            StubAnswer([
                .head(ResponseHead(status: 200)), .body(Data("x".utf8)), .trailers(["X-Sum": "1"]),
            ])
        case "/down": .failure(.connectionRefused)
        case "/chat":
            .webSocket(answering: request) { socket in
                socket.send("welcome")
                for await message in socket.messages { socket.send(message) }
            }
        default: .text("\(request.url.path)")
        }
    }

    /// Performs requests of many kinds, and returns what came back.
    private func visit(_ session: Session) async throws -> [String] {
        var seen: [String] = []
        seen.append(try await session.request("http://h/old").serializingJSON().value["name"].string ?? "")
        seen.append(
            try await session.upload(.data(Data("one two".utf8)), to: "http://h/upload").serializingString().value)
        let trailers = await session.request("http://h/trailers").serializingString().response
        seen.append("\(trailers.value ?? "") \(trailers.trailers?["X-Sum"] ?? "")")
        seen.append(await session.request("http://h/down").serializingData().response.error?.code.rawValue ?? "")
        let socket = await session.webSocket("ws://h/chat")
        for try await message in socket.messages {
            seen.append("\(message)")
            if seen.count == 5 { try await socket.send(.text("hi")) } else { try await socket.close() }
        }
        return seen
    }

    @Test("What was recorded is played with the same results, without secrets in the file")
    func roundTrip() async throws {
        let folder = try TemporaryFolder()
        let file = folder["visit.har"]
        let recording = Cassette(recordingTo: file, from: Self.server)
        let seen = try await visit(Session(transport: recording))
        #expect(seen.prefix(4) == ["Ada", "saved", "x 1", "connectionRefused"] && seen.count == 6)
        try await recording.finish()
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(!text.contains("s3cret") && text.contains("one two"))
        let cassette = try Cassette(har: file, matching: .init(body: .equal), order: .recorded)
        let played = try await visit(Session(transport: cassette))
        #expect(played == seen)
        #expect(cassette.unplayed.isEmpty)
    }

    @Test("Unknown requests are added to an archive; known ones are not sent")
    func recordsWhatIsMissing() async throws {
        let folder = try TemporaryFolder()
        let file = folder["some.har"]
        let sent = TransportLog()
        let server = sent.transport { request, _ in .text("\(request.url.path)") }
        for paths in [["a"], ["a", "b"], ["b", "a"]] {
            let cassette = try Cassette(har: file, unknown: .record(from: server))
            let session = Session(transport: cassette)
            for path in paths {
                #expect(try await session.request("http://h/\(path)").serializingString().value == "/\(path)")
            }
            try await cassette.finish()
        }
        #expect(sent.requests.map(\.url.path) == ["/a", "/b"])
        #expect(try HARArchive(contentsOf: file).entries.map(\.request.url) == ["http://h/a", "http://h/b"])
    }

    @Test("Unknown requests are passed on without being recorded")
    func passesOn() async throws {
        let cassette = Cassette(HARArchive(entries: [.get("http://h/a", "known")]), unknown: .passOn(to: Self.server))
        let session = Session(transport: cassette)
        #expect(try await session.request("http://h/a").serializingString().value == "known")
        #expect(try await session.request("http://h/a").serializingString().value == "/a")
        try await cassette.finish()
        #expect(cassette.archive.entries.count == 1 && cassette.playCount == 1)
    }

    @Test("A body that was compared in vain is passed on whole")
    func passesBodiesOn() async throws {
        var entry = HARArchive.Entry(method: "POST", "http://h/", "")
        entry.request.body = HARArchive.Body(Data("other".utf8))
        let sent = TransportLog()
        let cassette = Cassette(
            HARArchive(entries: [entry]), matching: .init(body: .equal), unknown: .passOn(to: sent.transport()))
        let pieces = Pieces(elements: [Data("one ".utf8), Data("two".utf8)])
        _ = try await Session(transport: cassette).upload(.sequence(pieces), to: "http://h/").serializingString().value
        let passed = try #require(sent.requests.first)
        #expect(try await passed.body.pulled() == Array("one two".utf8))
    }

    @Test("Bodies beyond the limit are cut, and their entries say that they cannot be played")
    func limits() async throws {
        let folder = try TemporaryFolder()
        let recording = Cassette(recordingTo: folder["cut.har"], from: Self.server, bodyLimit: 3)
        _ = try await Session(transport: recording).request("http://h/long").serializingString().value
        try await recording.finish()
        let cassette = try Cassette(har: folder["cut.har"])
        let error = await Session(transport: cassette).request("http://h/long").serializingString().response.error
        #expect(error?.code == .notRecorded && error?.message.contains("not complete") == true)
    }

    @Test("Of a WebSocket, 10,000 messages are recorded, and bytes up to the limit")
    func socketLimits() async throws {
        let server = StubTransport { request in
            .webSocket(answering: request) { socket in
                for number in 0..<10_100 { socket.send("\(number % 10)") }
            }
        }
        let folder = try TemporaryFolder()
        let recording = Cassette(recordingTo: folder["many.har"], from: server, bodyLimit: 100)
        let socket = await Session(transport: recording).webSocket("ws://h/")
        var count = 0
        for try await _ in socket.messages { count += 1 }
        _ = await socket.closed
        let messages = try #require(recording.archive.entries.first?.messages)
        #expect(count == 10_100 && messages.count == 10_000)
        #expect(messages.filter { $0.bytes != nil }.count == 100 && messages.allSatisfy { $0.size == 1 })
    }

    @Test("A file that cannot be written is an error of the end")
    func unwritable() async throws {
        let folder = try TemporaryFolder()
        let recording = Cassette(recordingTo: folder["none/x.har"], from: Self.server)
        _ = try await Session(transport: recording).request("http://h/a").serializingString().value
        await #expect(throws: RequestError.self) { try await recording.finish() }
        #expect(recording.archive.entries.count == 1)
    }

    #if os(Linux)
        @Test("Bodies that are produced while they are sent are recorded, also if they are sent twice")
        func streams() async throws {
            let server = try MockServer()
            server.on("PUT", "/upload", .text("again", status: 503), .text("saved"))
            let recording = Cassette(HARArchive(), unknown: .record(from: CurlTransport()))
            let session = Session(transport: recording, interceptor: .retry(limit: 1))
            let content = RequestContent.sequence { Pieces(elements: [Data("one ".utf8), Data("two".utf8)]) }
            let text = try await session.upload(content, to: server.url + "/upload", method: .put).validate()
                .serializingString().value
            #expect(text == "saved")
            let bodies = recording.archive.entries.map { $0.request.body?.bytes }
            #expect(bodies == [Data("one two".utf8), Data("one two".utf8)])
        }
    #endif
}
