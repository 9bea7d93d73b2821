import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Interim responses", .limited)
struct InformationTests {
    private static let early = MockResponse.Step.interim(103, ["Link": "</a.css>"])
    private let url = "http://example.com/a"

    private static func stub(_ statuses: [Int], then last: StubAnswer = .text("ok")) -> StubAnswer {
        StubAnswer(statuses.map { .head(ResponseHead(status: $0)) } + last.steps)
    }

    @Test("The closure, the sequence, the events and the hop have each interim head once, in order")
    func everywhere() async throws {
        let recorder = EventRecorder()
        let session = Session(
            transport: StubTransport { _ in Self.stub([100, 103, 104, 199]) }, eventMonitors: [recorder])
        let seen = Journal()
        let request = await session.request(url).onInformationalResponse { seen.note("\($0.status)") }
        let heads = request.informationalResponses
        #expect(await heads.reduce(into: []) { $0.append($1.status) } == [103, 104, 199])
        let response = await request.serializingString().response
        #expect(response.value == "ok")
        #expect(response.head?.status == 200)
        #expect(response.attempts[0].hops[0].informationalResponses.map(\.status) == [103, 104, 199])
        await recorder.wait { $0.contains { $0.name == "finish" } }
        #expect(recorder.events.count { $0.name == "receiveInformation" } == 3)
        // The sequence can be iterated again after the end, and the closure's task ends with the request.
        #expect(await heads.reduce(into: []) { $0.append($1.status) } == [103, 104, 199])
        #expect(await request.heads.reduce(into: []) { $0.append($1.status) } == [200])
    }

    @Test("The heads of redirects and retries follow each other")
    func hops() async throws {
        let log = TransportLog()
        let session = log.session(.bare, interceptor: RetryPolicy(limit: 1, backoff: .init(scale: .zero))) {
            request, number in
            switch number {
            case 1: Self.stub([103], then: .redirect(302, to: "/b"))
            case 2: Self.stub([104], then: .failure(.connectionLost))
            case 3: Self.stub([103, 103], then: .redirect(302, to: "/b"))
            default: Self.stub([199])
            }
        }
        let request = await session.request(url)
        #expect(
            await request.informationalResponses.reduce(into: []) { $0.append($1.status) } == [103, 104, 103, 103, 199])
        #expect(request.error == nil)
    }

    @Test(
        "A closure is called while the request waits for its response",
        arguments: ["data", "upload", "download", "stream"])
    func whileWaiting(kind: String) async throws {
        let (server, gate, reached) = (try MockServer(), Gate(), Gate())
        server.on(nil, "/", MockResponse([Self.early, .pause { await gate.pass() }] + MockResponse.text("ok").steps))
        let session = Session()
        let handler: @Sendable (ResponseHead) async -> Void = { head in
            if head["Link"] == "</a.css>" { reached.open() }
        }
        switch kind {
        case "data":
            let task = await session.request(server.url).onInformationalResponse(perform: handler).serializingString()
            await reached.pass()
            gate.open()
            #expect(try await task.value == "ok")
        case "upload":
            let task = await session.upload(Data("x".utf8), to: server.url).onInformationalResponse(perform: handler)
                .serializingString()
            await reached.pass()
            gate.open()
            #expect(try await task.value == "ok")
        case "download":
            let task = await session.download(server.url).onInformationalResponse(perform: handler).serializingString()
            await reached.pass()
            gate.open()
            #expect(try await task.value == "ok")
        default:
            let request = await session.streamRequest(server.url).onInformationalResponse(perform: handler)
            async let end = request.completion
            await reached.pass()
            gate.open()
            #expect(await end.error == nil)
        }
        await server.stop()
    }

    @Test("A thousand interim heads fail the request with a typed error")
    func flood() async throws {
        let server = try MockServer()
        server.on(
            nil, "/", MockResponse(Array(repeating: Self.early, count: 1_000) + MockResponse.text("ok").steps))
        let request = await Session().request(server.url)
        let response = await request.serializingData().response
        #expect(response.error?.code == .protocolViolation)
        #expect((response.attempts.last?.hops.last?.informationalResponses.count ?? 0) <= 64)
        await server.stop()
    }

    @Test("The log shows interim heads before the response, and trailers after it")
    func log() async {
        let answer = StubAnswer([
            .head(ResponseHead(status: 103, fields: [HTTPHeader(name: "Link", value: "</a.css>")])),
            .head(ResponseHead(status: 200)), .body(Data("ok".utf8)), .trailers(["X-Sum": "1", "X-Api-Key": "secret"]),
        ])
        let (journal, recorder) = (Journal(), EventRecorder())
        let monitor = LogMonitor(level: .headers, to: LogSink { journal.note($0) })
        let session = Session(
            transport: StubTransport { _ in answer }, eventMonitors: [CompositeEventMonitor([monitor, recorder])])
        _ = await session.request(url).serializingData().response
        await recorder.wait { $0.contains { $0.name == "finish" } }
        let text = journal.lines.joined()
        let expected = """
              < HTTP/1.1 103
              < Link: </a.css>
              < HTTP/1.1 200
              < (trailers)
              < X-Sum: 1
              < X-Api-Key: REDACTED

            """
        #expect(text.hasSuffix(expected), "\(text)")
    }
}
