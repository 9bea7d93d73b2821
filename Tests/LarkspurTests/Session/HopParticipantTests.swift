import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// A participant that notes its calls, with a place of its own.
private struct Noting<Place: ParticipantPlace>: HopParticipant {
    let name: String
    let journal: Journal
    var prepares: @Sendable (inout OutgoingHop) -> Void = { _ in }
    var isLearning = true

    func wrap(_ transport: any Transport) -> any Transport {
        journal.note("\(name) wraps")
        return transport
    }

    func prepare(_ hop: inout OutgoingHop) {
        let context = hop.context
        let cookie = hop.request.headers["Cookie"] ?? "none"
        journal.note("\(name) prepares \(context.attempt).\(context.number) \(context.url.target), cookie \(cookie)")
        prepares(&hop)
    }

    func learnsLater(from hop: Hop) -> Bool { isLearning }

    func learn(from head: ResponseHead, of hop: HopContext) {
        journal.note("\(name) learns \(hop.attempt).\(hop.number) \(hop.url.target) \(head.status)")
    }
}

private protocol ParticipantPlace: Sendable {
    static var place: Int { get }
}

private enum Outermost: ParticipantPlace { static let place = 600 }
private enum Innermost: ParticipantPlace { static let place = -1 }

private struct NotingSettings<Place: ParticipantPlace>: ParticipantSettings {
    var made: Noting<Place>?
    var journal: Journal?
    static var place: Int { Place.place }

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        journal?.note("made beside \(parents.count)")
        return made
    }

    func forNewSession() -> Self {
        journal?.note("new session")
        return self
    }
}

@Suite("Participants in hops", .limited)
struct HopParticipantTests {
    private let log = TransportLog()
    private let journal = Journal()

    private func configuration(
        _ prepares: @escaping @Sendable (inout OutgoingHop) -> Void = { _ in }
    ) -> SessionConfiguration {
        var configuration = SessionConfiguration.bare
        configuration.cookieJar = nil
        configuration[NotingSettings<Outermost>.self].made = Noting(name: "a", journal: journal, prepares: prepares)
        return configuration
    }

    @Test("Hops are prepared from the outermost participant to the innermost, and each learns before the next hop")
    func order() async throws {
        var configuration = configuration()
        configuration.cookieJar = CookieJar([try Cookie(name: "c", value: "1", domain: "h")])
        configuration[NotingSettings<Innermost>.self].made = Noting(name: "z", journal: journal)
        let session = log.session(configuration) { request, _ in
            request.url.target == "/old" ? .redirect(to: "/new") : .text("ok")
        }
        _ = try await session.request("http://h/old").serializingString().value
        #expect(
            journal.lines == [
                "z wraps", "a wraps",
                "a prepares 1.1 /old, cookie none", "z prepares 1.1 /old, cookie c=1",
                "a learns 1.1 /old 302", "z learns 1.1 /old 302",
                "a prepares 1.2 /new, cookie c=1", "z prepares 1.2 /new, cookie c=1",
                "a learns 1.2 /new 200", "z learns 1.2 /new 200",
            ])
    }

    @Test("A participant learns from the head of a stream, and from each attempt")
    func streamsAndAttempts() async throws {
        let session = log.session(configuration()) { _, number in number == 1 ? .text("busy", status: 503) : .text("ok")
        }
        let request = await session.streamRequest("http://h/").validate().retry(using: RetryPolicy(limit: 1))
        var text = Data()
        for try await bytes in request.bytes { text += bytes }
        #expect(text == Data("ok".utf8))
        #expect(journal.lines.filter { $0.contains("learns") } == ["a learns 1.1 / 503", "a learns 2.1 / 200"])
    }

    @Test("A participant that learns nothing later is not called for it")
    func withoutLearning() async throws {
        var configuration = configuration()
        configuration[NotingSettings<Outermost>.self].made?.isLearning = false
        _ = try await log.session(configuration).request("http://h/").serializingString().value
        #expect(!journal.lines.contains { $0.contains("learns") })
    }

    @Test("A field of one hop is sent with it alone, and does not replace a field of the request")
    func fields() async throws {
        let configuration = configuration { hop in
            hop.add(["X-Hop": "\(hop.context.number)", "X-Own": "participant"])
            hop.add(["X-Hop": "second"])
        }
        let session = log.session(configuration) { request, _ in
            request.url.target == "/old" ? .redirect(to: "/new") : .text("ok")
        }
        let request = await session.request("http://h/old", headers: ["X-Own": "caller"])
        _ = try await request.serializingString().value
        #expect(log.requests.map { HTTPHeaders($0.fields).values(for: "X-Hop") } == [["1"], ["2"]])
        #expect(log.requests.map { HTTPHeaders($0.fields).values(for: "X-Own") } == [["caller"], ["caller"]])
        #expect(request.attempts.last?.hops.allSatisfy { $0.request.headers["X-Hop"] == nil } == true)
    }

    @Test("A changed request is sent, and the hops after it start from it")
    func changes() async throws {
        let configuration = configuration { hop in
            if hop.context.number == 1 { hop.request.headers["X-Kept"] = "yes" }
        }
        let session = log.session(configuration) { request, _ in
            request.url.target == "/old" ? .redirect(to: "/new") : .text("ok")
        }
        let request = await session.request("http://h/old")
        _ = try await request.serializingString().value
        #expect(log.requests.map { $0["X-Kept"] } == ["yes", "yes"])
        #expect(request.attempts.last?.hops.first?.request.headers["X-Kept"] == "yes")
    }

    @Test("Changed options count for the hop, and keep what other participants ask of the transport")
    func changedOptions() async throws {
        var configuration = configuration { hop in
            hop.request.options.httpVersion = .http1
            hop.request.options.priority = .high
            hop.request.options.timeouts.idle = .seconds(7)
        }
        configuration.limits = RequestLimits(total: 1)
        _ = try await log.session(configuration).request("http://h/").serializingString().value
        let sent = try #require(log.requests.first)
        #expect(sent.version == .http1)
        #expect(sent.priority == .high)
        #expect(sent.timeouts.idle == .seconds(7))
        #expect(sent.flow != nil)
    }

    @Test("A refused hop sends nothing and fails with the first refusal")
    func refusal() async throws {
        let configuration = configuration { hop in
            hop.refuse(RequestError(.invalidCredential, "no token"))
            hop.refuse(RequestError(.invalidRequest, "later"))
        }
        let error = await log.session(configuration).request("http://h/").serializingString().response.error
        #expect(error?.code == .invalidCredential)
        #expect(error?.message.contains("no token") == true)
        #expect(log.count == 0)
    }

    @Test(
        "A hop is refused if a participant adds a field of the framework or a field that is not valid",
        arguments: ["Host: h", "Content-Length: 3", "Cookie: a=1", "X-A: a\nb"])
    func refusedFields(field: String) async throws {
        let parts = field.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        let configuration = configuration { $0.add([parts[0]: parts[1]]) }
        let error = await log.session(configuration).request("http://h/").serializingString().response.error
        #expect(error?.code == .invalidRequest)
        #expect(log.count == 0)
    }

    @Test("A WebSocket whose handshake participants change exchanges messages")
    func webSocket() async throws {
        let server = try MockServer()
        server.webSocket("/echo") { socket in
            for await message in socket.messages { socket.send(message) }
        }
        var configuration = configuration { $0.request.headers["X-Changed"] = "yes" }
        configuration.cookieJar = CookieJar([try Cookie(name: "a", value: "1", domain: "127.0.0.1")])
        let session = Session(configuration: configuration)
        let socket = await session.webSocket("ws://127.0.0.1:\(server.port)/echo")
        var echoes = socket.messages.makeAsyncIterator()
        try await socket.send("hello")
        #expect(try await echoes.next() == .text("hello"))
        try await socket.close()
        #expect(server.requests.first?.headers["Cookie"] == "a=1")
        await server.stop()
    }

    @Test("A session that extends another one makes its participants beside those of the other, from the same settings")
    func extending() async throws {
        var configuration = configuration()
        configuration[NotingSettings<Outermost>.self].journal = journal
        let session = log.session(configuration)
        let extended = session.extending { $0.headers = ["X-Tenant": "a"] }
        #expect(journal.lines == ["new session", "made beside 0", "a wraps", "made beside 2", "a wraps"])
        _ = try await extended.request("http://h/").serializingString().value
        #expect(journal.lines.count { $0.contains("prepares") } == 1)
    }
}

/// A participant that sends all requests to another host, and names it to redirect handlers.
private struct Diverting: HopParticipant {
    func target(for url: RequestURL) throws(RequestError) -> RequestURL {
        guard url.host != "closed" else { throw RequestError(.invalidURL, "this host is closed") }
        do { return try RequestURL("http://other" + url.target) } catch {
            throw RequestError(wrapping: error, as: .invalidURL)
        }
    }

    func adjust(_ redirected: inout OutgoingRequest, of id: RequestID) { redirected.headers["X-Redirected"] = "yes" }
    func learnsLater(from hop: Hop) -> Bool { false }
}

private struct DivertingSettings: ParticipantSettings {
    var isOn = false
    static let place = 600

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        isOn ? Diverting() : nil
    }
}

@Suite("Targets of participants", .limited)
struct HopTargetTests {
    private let log = TransportLog()

    private var session: Session {
        var configuration = SessionConfiguration.bare
        configuration[DivertingSettings.self].isOn = true
        return log.session(configuration) { request, _ in
            switch request.url.target {
            case "/old": .redirect(to: "http://h/new")
            case "/shut": .redirect(to: "http://closed/")
            default: .text("ok")
            }
        }
    }

    @Test("Requests, redirects and the requests of middleware go to the participant's target")
    func targets() async throws {
        _ = try await session.request("http://h/old").serializingString().value
        let request = await session.request("http://h/").middleware(
            ClosureMiddleware { exchange, next in
                var exchange = exchange
                exchange.request.url = try RequestURL("http://third/x")
                return try await next(exchange)
            })
        _ = try await request.serializingString().value
        #expect(log.requests.map(\.url.text) == ["http://other/old", "http://other/new", "http://other/x"])
        #expect(log.requests.map { $0["X-Redirected"] } == [nil, "yes", nil])
    }

    @Test("An error about the target fails a request, and refuses a redirect")
    func errors() async throws {
        let error = await session.request("http://closed/").serializingString().response.error
        #expect(error?.code == .invalidURL)
        #expect(log.count == 0)
        let refused = await session.request("http://h/shut").serializingString().response.error
        #expect(refused?.code == .invalidURL)
        #expect(log.count == 1)
    }

    @Test("A redirect handler sees the request as participants have adjusted it")
    func handler() async throws {
        let seen = Journal()
        let handler = Redirector { redirect in
            seen.note(try redirect.proposal.headers["X-Redirected"] ?? "no")
            return .follow
        }
        _ = try await session.request("http://h/old").redirect(using: handler).serializingString().value
        #expect(seen.lines == ["yes"])
    }
}

private struct Tenant: RequestOption {
    var name: String?
}

extension RequestOptions {
    fileprivate var tenant: String? {
        get { self[Tenant.self].name }
        set { self[Tenant.self].name = newValue }
    }
}

@Suite("Options of other modules", .limited)
struct RequestOptionTests {
    private let log = TransportLog()

    @Test("A request has the option of its session, unless it sets its own")
    func precedence() async throws {
        let seen = Journal()
        let configuration = SessionConfiguration {
            $0.options.tenant = "session"
            $0.middleware = [
                ClosureMiddleware { exchange, next in
                    seen.note(exchange.request.options.tenant ?? "none")
                    return try await next(exchange)
                }
            ]
        }
        let session = log.session(configuration)
        _ = try await session.request("http://h/").serializingString().value
        _ = try await session.request("http://h/") { $0.options.tenant = "own" }.serializingString().value
        #expect(seen.lines == ["session", "own"])
    }

    @Test("Options are equal if their added options are")
    func equality() {
        var (one, other) = (RequestOptions(), RequestOptions())
        #expect(one.tenant == nil)
        one.tenant = "a"
        #expect(one != other)
        other.tenant = "a"
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        other.tenant = "b"
        #expect(one != other)
    }
}
