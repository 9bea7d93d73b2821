import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// Cookies on the way of requests: sessions over a stub transport.
@Suite("Cookies of sessions", .limited)
struct CookieSessionTests {
    private let log = TransportLog()

    private static func answer(_ status: Int = 200, _ cookies: String..., to location: String? = nil) -> StubAnswer {
        var headers = HTTPHeaders(cookies.map { HTTPHeader(name: "Set-Cookie", value: $0) })
        if let location { headers.add(name: "Location", value: location) }
        return .response(status, headers: headers, chunks: [Data("text".utf8)])
    }

    /// A session whose server has these URLs.
    private func session(
        _ answers: [String: StubAnswer] = [:], _ configuration: SessionConfiguration = .bare
    ) -> Session {
        log.session(configuration) { request, _ in answers[request.url.text] ?? .text("ok") }
    }

    private var sent: [String?] { log.requests.map { $0["Cookie"] } }

    @Test("The cookies of a response are sent with the next request to that host, and to no other host")
    func kept() async throws {
        let session = session(["https://h/login": Self.answer(200, "sid=1; Path=/", "b=2")])
        for url in ["https://h/login", "https://h/x", "https://other/"] {
            #expect(try await session.request(url).serializingString().value.isEmpty == false)
        }
        #expect(sent == [nil, "sid=1; b=2", nil])
        #expect(session.cookieJar?.all.map(\.name) == ["sid", "b"])
    }

    @Test("Each hop of a redirect stores and sends the cookies of its own URL")
    func redirects() async throws {
        let session = session([
            "https://h/a": Self.answer(302, "a=1", to: "https://h/b"),
            "https://h/b": Self.answer(307, "b=2", "a=; Max-Age=0", to: "https://other/c"),
            "https://other/c": Self.answer(302, "c=3", to: "https://h/d"),
        ])
        session.cookieJar?.set(try Cookie(name: "o", value: "0", domain: "other"))
        let request = await session.request("https://h/a")
        _ = try await request.serializingData().value
        #expect(sent == [nil, "a=1", "o=0", "b=2"])
        #expect(request.attempts.first?.hops.map { $0.request.headers["Cookie"] } == sent)
        #expect(log.requests.allSatisfy { $0.fields.count <= 1 })
    }

    @Test("A redirect that a handler changes or creates sends the cookies of its new URL")
    func redirectHandlers() async throws {
        let session = session(["https://h/a": Self.answer(302, "a=1; Path=/", to: "https://h/b")])
        session.cookieJar?.set(try Cookie(name: "o", value: "0", domain: "other"))
        let changes: [@Sendable (OutgoingRequest) throws -> OutgoingRequest] = [
            { $0 },
            { request in
                var request = request
                request.url = try RequestURL("https://other/c")
                return request
            },
            { _ in try OutgoingRequest("https://other/d") },
        ]
        for change in changes {
            let handler = Redirector { .follow(try change(try $0.proposal)) }
            let request = await session.request("https://h/a").redirect(using: handler)
            _ = try await request.serializingData().value
            #expect(request.attempts.first?.hops.last?.request.headers["Cookie"] == log.requests.last?["Cookie"])
        }
        #expect(sent == [nil, "a=1", "a=1", "o=0", "a=1", "o=0"])
    }

    @Test("A server may set a cookie and redirect to the same URL; repeating that is a redirect loop")
    func cookieWall() async throws {
        let session = log.session { request, _ in
            request["Cookie"] == nil || request.url.path == "/loop"
                ? Self.answer(302, "seen=1; Path=/", to: "\(request.url.path)") : .text("in")
        }
        #expect(try await session.request("https://h/wall").serializingString().value == "in")
        #expect(sent == [nil, "seen=1"])
        let error = await session.request("https://h/loop").serializingString().response.error
        #expect(error?.code == .redirectLoop)
        #expect(sent == [nil, "seen=1", "seen=1"])
        #expect(error.map { "\($0)".contains("seen") } == false)
    }

    @Test("The cookies of a 401 are sent with the authenticated request")
    func challenge() async throws {
        let session = log.session { request, _ in
            guard request["Authorization"] == nil else { return Self.answer(200, "b=2") }
            var answer = Self.answer(401, "a=1")
            let fields = [("Set-Cookie", "a=1"), ("WWW-Authenticate", "Basic realm=x")].map(HTTPHeader.init)
            answer.steps[0] = .head(ResponseHead(status: 401, fields: fields))
            return answer
        }
        let request = await session.request("https://h/").authenticate(username: "u", password: "p").validate()
        _ = try await request.serializingData().value
        #expect(sent == [nil, "a=1"])
        #expect(session.cookieJar?.all.count == 2)
    }

    @Test("A retry sends the cookies that the previous attempt has set")
    func retried() async throws {
        let session = log.session(interceptor: .retrier { _, _, _ in .retry }) { _, number in
            number == 1 ? Self.answer(500, "a=1") : .text("ok")
        }
        _ = try await session.request("https://h/").validate().serializingData().value
        #expect(sent == [nil, "a=1"])
    }

    @Test(
        "A request's own Cookie field is sent without the jar's, and stays with its origin", arguments: [true, false])
    func ownField(isSessions: Bool) async throws {
        let configuration = SessionConfiguration { $0.headers = isSessions ? ["cookie": "own=1"] : [:] }
        let session = session(
            [
                "https://h/a": Self.answer(302, "a=1; Path=/", to: "/b"),
                "https://h/b": Self.answer(302, to: "https://other/c"),
                "https://other/c": Self.answer(302, "c=1", to: "https://h/d"),
            ], configuration)
        session.cookieJar?.set(try Cookie(name: "o", value: "0", domain: "other"))
        let request = await session.request("https://h/a", headers: isSessions ? [:] : ["cookie": "own=1"])
        _ = try await request.serializingData().value
        #expect(sent == ["own=1", "own=1", "o=0", "a=1"])
        #expect(session.cookieJar?.all.count == 3)
    }

    @Test("An adapter's Cookie field counts as the request's own field")
    func adapted() async throws {
        let adapter = Interceptor(adapt: { request, _ in
            #expect(request.headers["Cookie"] == nil)
            if request.url.path == "/own" { request.headers.add(name: "Cookie", value: "own=1") }
        })
        let session = log.session(interceptor: adapter)
        session.cookieJar?.set(try Cookie(name: "a", value: "1", domain: "h"))
        for path in ["own", "x"] { _ = try await session.request("https://h/\(path)").serializingData().value }
        #expect(sent == ["own=1", "a=1"])
    }

    // MARK: Ownership

    @Test("Each session has its own jar, child sessions share it, and nil disables cookies")
    func jars() async throws {
        let configuration = SessionConfiguration { $0.headers = [:] }
        let set = ["https://h/set": Self.answer(200, "a=1; Path=/")]
        let first = session(set, configuration)
        let second = session(set, configuration)
        let child = first.extending { $0.headers = ["X": "1"] }
        let without = first.extending { $0.cookieJar = nil }
        for session in [without, first] { _ = try await session.request("https://h/set").serializingData().value }
        #expect(configuration.cookieJar?.all.isEmpty == true && second.cookieJar?.all.isEmpty == true)
        for session in [child, second, without, first] {
            _ = try await session.request("https://h/").serializingData().value
        }
        #expect(sent == [nil, nil, "a=1", nil, nil, "a=1"])
        #expect(without.cookieJar == nil && child.cookieJar === first.cookieJar)
    }

    @Test("A jar that is set in several sessions serves all of them")
    func sharedJar() async throws {
        let jar = CookieJar([try Cookie(name: "a", value: "1", domain: "h")])
        let configuration = SessionConfiguration {
            $0.headers = [:]
            $0.cookieJar = jar
        }
        for session in [session([:], configuration), session([:], configuration)] {
            #expect(session.cookieJar === jar)
            _ = try await session.request("https://h/").serializingData().value
        }
        #expect(sent == ["a=1", "a=1"])
    }

    @Test("Sessions start with the cookies in the jar of their configuration")
    func begun() throws {
        let configuration = SessionConfiguration()
        configuration.cookieJar?.set(try Cookie(name: "a", value: "1", domain: "h"))
        let sessions = (0..<2).map { _ in session([:], configuration) }
        sessions[0].cookieJar?.removeAll()
        #expect(sessions.map { $0.cookieJar?.all.count } == [0, 1])
        #expect(configuration.cookieJar?.all.count == 1)
    }

    // MARK: Disabled

    @Test("Without usesCookieJar no cookies are sent or stored", arguments: ["request", "session", "URLRequest"])
    func switchedOff(way: String) async throws {
        let configuration = SessionConfiguration {
            $0.headers = [:]
            if way == "session" { $0.options.usesCookieJar = false }
        }
        let session = session(["https://h/": Self.answer(200, "b=2")], configuration)
        session.cookieJar?.set(try Cookie(name: "a", value: "1", domain: "h"))
        let request: DataRequest
        if way == "URLRequest" {
            var theirs = URLRequest(url: try #require(URL(string: "https://h/")))
            theirs.httpShouldHandleCookies = false
            request = await session.request(theirs)
        } else {
            request = await session.request("https://h/") { if way == "request" { $0.options.usesCookieJar = false } }
        }
        _ = try await request.serializingData().value
        #expect(sent == [nil])
        #expect(session.cookieJar?.all.map(\.name) == ["a"])
        #expect(request.request?.urlRequest.httpShouldHandleCookies == false)
        let next = await session.request("https://h/") { $0.options.usesCookieJar = true }
        _ = try await next.serializingData().value
        #expect(sent == [nil, "a=1"])
        #expect(session.cookieJar?.all.map(\.name) == ["a", "b"])
    }

    // MARK: Every kind of request

    @Test("Streams and downloads store cookies before their bodies arrive")
    func live() async throws {
        let session = session(["https://h/": Self.answer(200, "a=1")])
        for try await _ in await session.streamRequest("https://h/").bytes {
            #expect(session.cookieJar?.all.count == 1)
        }
        session.cookieJar?.removeAll()
        try FileManager.default.removeItem(at: await session.download("https://h/").serializingFile().value)
        let response = await session.download("https://h/x").serializingData().response
        #expect(response.value?.count == 2)
        try FileManager.default.removeItem(at: #require(response.fileURL))
        #expect(sent == [nil, nil, "a=1"])
    }

    @Test("A failed exchange stores the cookies of its head")
    func failed() async throws {
        let broken = StubAnswer(Self.answer(200, "a=1").steps + [.fail(TransportError(.connectionLost))])
        let session = session(["https://h/": broken])
        _ = await session.request("https://h/").serializingData().response
        #expect(session.cookieJar?.all.count == 1)
    }

    @Test("Middleware does not see the jar's cookies, and its own requests send those of their URLs")
    func middleware() async throws {
        let configuration = SessionConfiguration {
            $0.headers = [:]
            $0.middleware = [
                ClosureMiddleware { exchange, next in
                    #expect(exchange.request.headers["Cookie"] == nil)
                    let first = try await next(exchange)
                    var other = exchange
                    other.request = first.hop?.request ?? exchange.request  // with the cookies of the first URL
                    other.request.url = try RequestURL("https://other/")
                    return try await next(other)
                }
            ]
        }
        let session = session(["https://h/": Self.answer(200, "b=2")], configuration)
        session.cookieJar?.set(try Cookie(name: "a", value: "1", domain: "h"))
        session.cookieJar?.set(try Cookie(name: "o", value: "0", domain: "other"))
        _ = try await session.request("https://h/").serializingData().value
        #expect(sent == ["a=1", "o=0"])
        #expect(session.cookieJar?.all.count == 3)
    }

    @Test("A request that was sent can be sent by another session, with that session's cookies alone")
    func sentAgain() async throws {
        let first = session()
        first.cookieJar?.set(try Cookie(name: "a", value: "1", domain: "h"))
        let request = await first.request("https://h/")
        let response = await request.serializingData().response
        let sentRequest = try #require(response.request)
        #expect(sentRequest.headers["Cookie"] == "a=1")
        let second = session()
        second.cookieJar?.set(try Cookie(name: "b", value: "2", domain: "h"))
        var changed = sentRequest
        changed.headers["Cookie"] = "own=1"
        let without = second.extending { $0.cookieJar = nil }
        for (session, request) in [(second, sentRequest), (without, sentRequest), (second, changed)] {
            _ = try await session.request(request).serializingData().value
        }
        #expect(sent == ["a=1", "b=2", nil, "own=1"])
    }

    @Test("Neither descriptions nor errors show the values of cookies")
    func descriptions() async throws {
        let session = session(["https://h/": Self.answer(500, "new=hunter2")])
        session.cookieJar?.set(try Cookie(name: "sid", value: "hunter1", domain: "h"))
        let request = await session.request("https://h/").validate()
        let response = await request.serializingData().response
        #expect(request.cURLDescription().contains("-H 'Cookie: REDACTED'"))
        #expect(request.cURLDescription(redacting: .none).contains("sid=hunter1"))
        let error = try #require(response.error)
        let text = request.cURLDescription() + response.debugDescription + "\(response) \(error) \(request)"
        #expect(!text.contains("hunter"))
    }

    @Test("Concurrent requests share a jar, and each sends the cookies of its time")
    func concurrent() async throws {
        let session = log.session { request, number in Self.answer(200, "c\(number % 8)=\(number)") }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 { _ = try? await session.request("https://h/").serializingData().value }
                }
            }
        }
        #expect(log.count == 400)
        #expect(session.cookieJar?.all.count == 8)
        #expect(sent.filter { $0 == nil }.count <= 8)
    }
}
