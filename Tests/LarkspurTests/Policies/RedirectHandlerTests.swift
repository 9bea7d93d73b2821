import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Redirect handlers", .limited)
struct RedirectHandlerTests {
    private let log = TransportLog()

    /// A session whose server knows these paths; any other is answered with the path itself.
    private func session(
        _ answers: [String: StubAnswer], _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration.bare
        configure(&configuration)
        return log.session(configuration) { request, _ in
            answers[String(request.url.path)] ?? .text("body of \(request.url.target)")
        }
    }

    private var sent: [String] { log.requests.map { "\($0.method) \($0.url.text)" } }

    private func moved(_ status: Int = 302, to location: String = "/b", _ text: String = "moved") -> StubAnswer {
        .response(status, headers: ["Location": location], chunks: [Data(text.utf8)])
    }

    // MARK: Answers

    enum Level: CaseIterable { case session, request, requestOverSession }

    @Test(
        "The three answers do what they say, for a session and for a request, whose own counts",
        arguments: Level.allCases,
        [("follow", "body of /b", nil), ("doNotFollow", "moved", nil), ("modify", "body of /b", "yes")]
            as [(String, String, String?)])
    func answers(level: Level, expected: (name: String, body: String, mark: String?)) async throws {
        let handlers: [String: Redirector] = [
            "follow": .follow, "doNotFollow": .doNotFollow,
            "modify": .modify { request, _ in request.headers["X-Mark"] = "yes" },
        ]
        let handler = try #require(handlers[expected.name])
        let other: Redirector = expected.name == "doNotFollow" ? .follow : .doNotFollow
        let session = session(["/a": moved()]) {
            if level != .request { $0.redirectHandler = level == .session ? handler : other }
        }
        let request = await session.request("http://h/a")
        if level != .session { request.redirect(using: handler) }
        let response = await request.serializingString().response
        #expect(response.value == expected.body)
        #expect(log.count == (expected.name == "doNotFollow" ? 1 : 2))
        #expect(log.requests.last?["X-Mark"] == expected.mark)
        #expect(response.head?.status == (expected.name == "doNotFollow" ? 302 : 200))
    }

    @Test("The handler is asked about every redirect, with the head, the earlier requests and the next request")
    func asked() async throws {
        let journal = Journal()
        let handler = Redirector { redirect in
            let next = try redirect.proposal
            journal.note(
                "\(redirect.head.status) \(redirect.request) -> \(next), \(next.headers["Authorization"] ?? "-")")
            journal.note(redirect.hops.map { "\($0.request.url.path)" }.joined())
            return .follow
        }
        let session = session(["/a": .redirect(307, to: "/b"), "/b": .redirect(303, to: "http://other/c")])
        let request = await session.request("http://h/a", method: .post, headers: ["Authorization": "t"])
        _ = try await request.redirect(using: handler).serializingData().value
        let expected = [
            "307 POST http://h/a -> POST http://h/b, t", "/a", "303 POST http://h/b -> GET http://other/c, -", "/a/b",
        ]
        #expect(journal.lines == expected)
    }

    @Test("The handler is not asked about responses, challenges, redirects without a Location and delivered redirects")
    func notAsked() async throws {
        let handler = Redirector { _ in
            Issue.record("it was asked")
            return .doNotFollow
        }
        let answers: [String: StubAnswer] = [
            "/304": .response(304), "/302": .response(302), "/300": .response(300, headers: ["Location": "/b"]),
            "/201": .response(201, headers: ["Location": "/b"]), "/d": .redirect(to: "/b"),
            "/401": .response(401, headers: ["WWW-Authenticate": "Basic", "Location": "/b"]),
        ]
        let session = session(answers) { $0.redirectHandler = handler }
        for path in answers.keys {
            let request = await session.request("http://h\(path)") {
                $0.options.redirects = path == "/d" ? .deliver : nil
            }
            _ = try await request.authenticate(username: "u", password: "p").serializingData().value
        }
        #expect(log.count == answers.count + 1)
    }

    @Test("Beyond the limit it is not asked, and a loop that its answers make ends there")
    func limit() async throws {
        let asked = Counter()
        let handler = Redirector { redirect in
            asked.increment()
            return .follow(redirect.request)
        }
        let session = session(["/a": moved(to: "/a")]) {
            $0.redirectHandler = handler
            $0.options.redirects = .follow(limit: 3)
        }
        let error = await session.request("http://h/a").serializingData().response.error
        #expect(error?.code == .tooManyRedirects && error?.statusCode == 302)
        #expect(asked.value == 3)
        #expect(log.count == 4)
    }

    @Test("R2: it runs on no transport's thread and under no lock, and the transport does not wait for it")
    func threads() async throws {
        let (recorder, gate) = (EventRecorder(), Gate())
        let handler = Redirector { _ in
            recorder.probe("a redirect handler")
            await gate.pass()
            recorder.probe("a redirect handler")
            return .follow
        }
        let request = await session(["/a": moved()]) { $0.redirectHandler = handler }.request("http://h/a")
        let task = request.eventMonitor(recorder).serializingString()
        await gate.arrived()
        await recorder.wait { $0.contains { $0.name == "endHop" } }
        #expect(log.count == 1)
        gate.open()
        #expect(try await task.value == "body of /b")
        #expect(recorder.violations == [])
    }

    // MARK: Refusals

    static let refused: [(String, RequestError.Code)] = [
        ("mailto:a@b", .redirectRefused), ("app://callback?code=1", .redirectRefused),
        ("http://h:x/", .redirectRefused),
        ("http://h/a", .redirectRefused), ("https://h/a", .redirectLoop),
    ]

    @Test(
        "Where there is nothing to propose, .follow fails with the reason, and anything else goes", arguments: refused)
    func refusals(location: String, code: RequestError.Code) async throws {
        let session = session(["/a": moved(to: location)])
        for handler in [.follow, .modify { _, _ in Issue.record("there is nothing to modify") }] as [Redirector] {
            let request = await session.request("https://h/a").redirect(using: handler)
            let error = await request.serializingData().response.error
            #expect(error?.code == code && error?.stage == .sending && error?.statusCode == 302)
        }
        let delivered = await session.request("https://h/a").redirect(using: .doNotFollow)
        #expect(try await delivered.serializingString().value == "moved")
        let elsewhere = await session.request("https://h/a").redirect(
            using: Redirector { _ in .follow(OutgoingRequest(url: try RequestURL("http://h/else"))) })
        #expect(try await elsewhere.serializingString().value == "body of /else")
    }

    @Test("An error that a handler throws is the underlying error; a RequestError is the error itself")
    func thrown() async throws {
        let session = session(["/a": moved(), "/b": moved(to: "/c")])
        let handler = Redirector { redirect in
            if redirect.hops.count == 2 { throw ForeignError() }
            return .follow
        }
        let response = await session.request("http://h/a").redirect(using: handler).serializingData().response
        let error = try #require(response.error)
        #expect(error.code == .redirectRefused && error.underlying is ForeignError)
        #expect(error.stage == .sending && error.statusCode == 302 && error.url?.text == "http://h/b")
        #expect(response.redirects.map(\.request.url.text) == ["http://h/a"])
        #expect(response.attempts.first?.hops.map { $0.head?.status } == [302, 302])
        #expect(log.count == 2)

        let own = Redirector { _ in throw RequestError(.checksumMismatch, "mine") }
        let other = await session.request("http://h/a").redirect(using: own).serializingData().response.error
        #expect(other?.code == .checksumMismatch)
    }

    @Test("Retriers are asked about its refusal, and it is asked again in the next attempt")
    func retried() async throws {
        let asked = Counter()
        let handler = Redirector { _ in
            if asked.increment() == 1 { throw ForeignError() }
            return .follow
        }
        let retrier = Interceptor(retry: { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        let request = await session(["/a": moved()]).request("http://h/a", interceptor: retrier)
        #expect(try await request.redirect(using: handler).serializingString().value == "body of /b")
        #expect(request.attempts.map(\.hops.count) == [1, 2])
    }

    // MARK: What it returns

    static let changes: [(String, RequestError.Code, @Sendable (inout OutgoingRequest) throws -> Void)] = [
        ("a method with a space", .invalidRequest, { $0.method = "GE T" }),
        ("a line end in a field", .invalidRequest, { $0.headers["X"] = "a\r\nEvil: 1" }),
        ("a coding of its own", .invalidRequest, { $0.headers["Transfer-Encoding"] = "chunked" }),
        ("two hosts", .invalidRequest, { $0.headers = ["Host": "a", "host": "b"] }),
        ("another scheme", .invalidURL, { $0.url = try RequestURL("file:///etc/passwd") }),
        ("a GET with a body", .bodyInGETRequest, { $0.body = .data(Data("x".utf8)) }),
    ]

    @Test("A handler's request is checked like any request, and an invalid one is not sent", arguments: changes.indices)
    func unsendable(index: Int) async throws {
        let (_, code, change) = Self.changes[index]
        let handler = Redirector.modify { request, _ in try change(&request) }
        let request = await session(["/a": moved()]).request("http://h/a").redirect(using: handler)
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == code && error.statusCode == 302)
        #expect(log.count == 1)
    }

    @Test("A body that can be sent only once is not sent twice for it either")
    func onceOnly() async throws {
        let session = session(["/a": moved()])
        for handler in [
            Redirector { redirect in .follow(redirect.request) },
            .modify { request, redirect in (request.method, request.body) = (.post, redirect.request.body) },
        ] {
            let request = await session.upload(.onceOnly, to: "http://h/a").redirect(using: handler)
            #expect(await request.serializingData().response.error?.code == .bodyNotReplayable)
        }
        let delivered = await session.upload(.onceOnly, to: "http://h/a").redirect(using: .doNotFollow)
        #expect(await delivered.serializingData().response.head?.status == 302)
        #expect(log.count == 3)
    }

    private static let secrets: HTTPHeaders = ["Authorization": "t", "Cookie": "c", "X-Key": "k", "X-Other": "o"]

    @Test("A redirect to another origin loses the confidential fields, and the handler's request is sent unchanged")
    func stripped() async throws {
        let session = session(["/a": moved(to: "http://other/b")]) { $0.options.confidentialHeaders = ["x-key"] }
        let handlers: [(Redirector, [String])] = [
            (.follow, ["X-Other: o"]),
            (.modify { request, _ in request.headers["Authorization"] = "t" }, ["X-Other: o", "Authorization: t"]),
            (
                .modify { request, redirect in request.headers = redirect.request.headers },
                Self.secrets.map(\.line)
            ),
        ]
        for (handler, fields) in handlers {
            let request = await session.request("http://h/a", headers: Self.secrets).redirect(using: handler)
            _ = try await request.serializingData().value
            #expect(log.requests.last?.fields.map(\.line) == fields)
        }
    }

    @Test("Led to an origin that was not proposed, a request leaves behind what it has not got from the handler")
    func ledElsewhere() async throws {
        let session = session(["/a": moved()]) { $0.options.confidentialHeaders = ["x-key"] }
        let handler = Redirector.modify { request, _ in
            request.url = try RequestURL("http://mirror/b")
            request.headers["Cookie"] = "of the mirror"
        }
        let request = await session.request("http://h/a", headers: Self.secrets).redirect(using: handler)
        _ = try await request.serializingData().value
        #expect(log.requests.last?.fields.map(\.line) == ["Cookie: of the mirror", "X-Other: o"])
    }

    @Test("A new request keeps the options that it does not set")
    func options() async throws {
        let handler = Redirector { redirect in
            guard redirect.hops.count == 1 else { return .follow }
            return .follow(OutgoingRequest(url: try RequestURL("http://h/b"), headers: ["X-Key": "k"]))
        }
        let session = session(["/a": moved(), "/b": moved(to: "http://other/c")])
        let request = await session.request("http://h/a") {
            $0.options.confidentialHeaders = ["X-Key"]
            $0.options.maximumBodySize = 77
        }
        let response = await request.redirect(using: handler).serializingData().response
        #expect(log.requests.map { $0["X-Key"] } == [nil, "k", nil])
        #expect(response.request?.options.confidentialHeaders == ["X-Key"])
        #expect(response.request?.options.maximumBodySize == 77)
    }

    @Test("The history, the events and the sequences tell what was really sent")
    func history() async throws {
        let recorder = EventRecorder()
        let session = session(["/a": moved(), "/b": moved(to: "/c")])
        let handler = Redirector.modify { request, redirect in
            request.url = try request.url.replacingQuery("hop=\(redirect.hops.count)")
        }
        let request = await session.request("http://h/a").redirect(using: handler).eventMonitor(recorder)
        var requests: [String] = []
        for await sent in request.requests { requests.append("\(sent.url.target)") }
        var statuses: [Int] = []
        for await head in request.heads { statuses.append(head.status) }
        #expect(requests == ["/a", "/b?hop=1", "/c?hop=2"])
        #expect(statuses == [302, 302, 200])
        let response = await request.serializingData().response
        #expect(response.redirects.map(\.request.url.target) == ["/a", "/b?hop=1"])
        #expect(response.request?.url.target == "/c?hop=2")
        await recorder.wait { $0.contains { $0.name == "finish" } }
        let followed = recorder.events.compactMap { event in
            if case .redirect(let next) = event { String(next.url.target) } else { nil }
        }
        #expect(followed == ["/b?hop=1", "/c?hop=2"])
    }
}
