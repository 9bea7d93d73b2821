import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Types that convert to a URL", .limited)
struct URLConvertibleTests {
    /// A value that computes its URL, and counts how often it does.
    private struct Counting: URLConvertible {
        let journal: Journal

        func asRequestURL() throws -> RequestURL {
            try RequestURL("http://h/\(journal.count())")
        }
    }

    private struct Router: URLRequestConvertible {
        let journal: Journal

        func asURLRequest() throws -> URLRequest {
            var request = URLRequest(url: URL(string: "http://h/\(journal.count())") ?? URL(fileURLWithPath: "/"))
            request.httpMethod = "DELETE"
            return request
        }
    }

    private struct Throwing: URLConvertible, URLRequestConvertible {
        func asRequestURL() throws -> RequestURL { throw ForeignError() }
        func asURLRequest() throws -> URLRequest { throw ForeignError() }
    }

    private func target(of url: any URLConvertible) async throws -> String {
        let log = TransportLog()
        _ = try await log.session().request(url).serializingData().value
        return try #require(log.requests.first).url.text
    }

    @Test("A String, URL, URLComponents and RequestURL give the same URL")
    func kinds() async throws {
        let text = "https://example.com:8443/a%20b/%C3%BC?q=1%262&r=%2B#f"
        #expect(try await target(of: text) == text)
        #expect(try await target(of: try #require(URL(string: text))) == text)
        #expect(try await target(of: try #require(URLComponents(string: text))) == text)
        #expect(try await target(of: try RequestURL(text)) == text)
    }

    @Test(
        "A String is normalized, and characters that a URL may not contain are escaped",
        arguments: [
            ("HTTP://Example.COM:80", "http://example.com/"), ("http://h/a/../b/./c", "http://h/b/c"),
            ("http://h/a b?c d", "http://h/a%20b?c%20d"), ("http://h/ü?🎉", "http://h/%C3%BC?%F0%9F%8E%89"),
            ("http://h?q", "http://h/?q"), ("http://[::1]:8080/", "http://[::1]:8080/"),
        ])
    func normalised(text: String, expected: String) async throws {
        #expect(try await target(of: text) == expected)
    }

    @Test("A host in any script is sent in its ASCII form")
    func idna() async throws {
        #expect(try await target(of: "http://bücher.example/ü") == "http://xn--bcher-kva.example/%C3%BC")
        #expect(try await target(of: "http://BÜCHER.example/") == "http://xn--bcher-kva.example/")
        #expect(try await target(of: "http://例え.jp/") == "http://xn--r8jz45g.jp/")
        var components = URLComponents()
        (components.scheme, components.host, components.path) = ("http", "bücher.example", "/")
        #expect(try await target(of: components) == "http://xn--bcher-kva.example/")
        let url = try #require(URL(string: "http://bücher.example/"))
        #expect(try await target(of: url) == "http://xn--bcher-kva.example/")
    }

    @Test(
        "An invalid String gives a typed error in the response and is never sent",
        arguments: [
            "", "example.com", "/path", "http://", "http:///p", "http://h:99999/", "http://h\r\nEvil: 1/", " http://h/",
            "http://h/ ", "http://a b/", "http://[::1/", "http://127.1/", "http://h\\@evil/", "http://a..b/",
            "1http://h/",
            "http://h/\u{0}", "ftp://h/", "file:///etc/passwd", "http://user\u{7F}:p4ss@h/",
        ])
    func badStrings(text: String) async throws {
        let log = TransportLog()
        let response = await log.session().request(text).serializingData().response
        let error = try #require(response.error)
        #expect(error.code == .invalidURL)
        #expect(error.stage == .building)
        #expect(!"\(error)".contains("p4ss"))
        #expect(log.count == 0)
        #expect(response.request == nil && response.head == nil && response.data == nil)
    }

    @Test("The parser's error is the underlying error and says where the problem is")
    func underlying() async throws {
        let response = await TransportLog().session().request("http://h:x/").serializingData().response
        let error = try #require(response.error?.underlying as? RequestURLError)
        #expect(error.reason == .portInvalid)
        #expect(error.offset == 8)
    }

    @Test(
        "An error about a URL quotes it, except for parts that may be secret",
        arguments: [
            ("http://a b/c", "http://a b/c"), ("http://user:p4ss@a b/", "http://REDACTED@a b/"),
            ("http://user:p4?ss@a b/", "http://REDACTED@a b/"), ("//user:p4ss@h", "REDACTED@h"),
            ("http://u:p@s4@\u{301}a b/", "http://REDACTED@\u{301}a b/"),
            ("http://a b/?q=p4ss", "http://a b/?REDACTED"),
            ("http://a b/#p4ss", "http://a b/#REDACTED"), ("http://h/\n", "http://h/\\n"),
            ("http://a b/" + String(repeating: "c", count: 500), "http://a b/" + String(repeating: "c", count: 189)),
        ])
    func quoted(text: String, shown: String) async throws {
        let error = try #require(await TransportLog().session().request(text).serializingData().response.error)
        #expect(error.message.hasSuffix("The URL is \"\(shown)\"."), "\(error.message)")
    }

    @Test("URLComponents that do not form a URL, and a URL without a scheme, give a typed error in the response")
    func badValues() async throws {
        var components = URLComponents()
        (components.scheme, components.host, components.path) = ("http", "h", "no-slash")
        let relative = try #require(URL(string: "path"))
        for url in [components as any URLConvertible, relative] {
            let response = await TransportLog().session().request(url).serializingData().response
            #expect(response.error?.code == .invalidURL)
        }
    }

    @Test("An error of a convertible is wrapped, and the original is kept")
    func foreignErrors() async throws {
        let session = TransportLog().session()
        let requests = [
            await session.request(Throwing() as any URLConvertible),
            await session.request(Throwing() as any URLRequestConvertible),
        ]
        for request in requests {
            let error = try #require(await request.serializingData().response.error)
            #expect(error.code == .requestCreationFailed)
            #expect(error.stage == .building)
            #expect(error.underlying is ForeignError)
        }
    }

    @Test("A convertible is converted for each attempt, and not before the first", arguments: [false, true])
    func askedAgain(isRouter: Bool) async throws {
        let journal = Journal()
        let log = TransportLog()
        let session = log.session { _, number in number < 3 ? .failure(.connectionLost) : .text("ok") }
        let request =
            isRouter
            ? await session.request(Router(journal: journal)) : await session.request(Counting(journal: journal))
        request.retry(using: Interceptor(retry: { _, _, _ in .retry }))
        #expect(journal.lines.isEmpty)
        #expect(await request.serializingData().response.error == nil)
        #expect(log.requests.map(\.url.text) == ["http://h/1", "http://h/2", "http://h/3"])
        #expect(log.requests.allSatisfy { $0.method == (isRouter ? "DELETE" : "GET") })
        #expect(request.attempts.map { $0.request?.url.text } == ["http://h/1", "http://h/2", "http://h/3"])
    }

    @Test("A failed conversion can be retried, and the next attempt may succeed")
    func recovers() async throws {
        struct Late: URLConvertible {
            let journal: Journal
            func asRequestURL() throws -> RequestURL { try RequestURL(journal.count() == 1 ? "nowhere" : "http://h/") }
        }
        let log = TransportLog()
        let request = await log.session().request(Late(journal: Journal()))
        request.retry(using: Interceptor(retry: { _, _, error in error.code == .invalidURL ? .retry : .doNotRetry }))
        #expect(await request.serializingData().response.error == nil)
        #expect(log.count == 1)
        #expect(request.retryCount == 1)
    }

    @Test(
        "Any text becomes one segment of a path",
        arguments: [
            ("ada", "ada"), ("a b", "a%20b"), ("a/b", "a%2Fb"), ("a#b", "a%23b"), ("a?b=c", "a%3Fb%3Dc"),
            ("%41", "%2541"), ("ü🎉", "%C3%BC%F0%9F%8E%89"), ("...", "..."), ("", ""), ("a.b", "a.b"),
            ("//x", "%2F%2Fx"),
        ])
    func segments(text: String, expected: String) async throws {
        #expect(try await target(of: "http://h/users/\(segment: text)/x") == "http://h/users/\(expected)/x")
    }

    @Test("A segment that would change the path makes the URL invalid", arguments: [".", ".."])
    func dotSegments(text: String) async throws {
        let response = await TransportLog().session().request("http://h/a/\(segment: text)/b").serializingData()
            .response
        #expect(response.error?.code == .invalidURL)
    }

    @Test("A router can create just an OutgoingRequest, and use the encoders on URLRequests")
    func routers() async throws {
        struct Own: OutgoingRequestConvertible {
            func asOutgoingRequest() throws -> OutgoingRequest {
                try OutgoingRequest("http://h/own", method: .put, headers: ["A": "1", "a": "2"])
            }
        }
        struct Foundations: URLRequestConvertible {
            let method: HTTPMethod
            func asURLRequest() throws -> URLRequest {
                var request = try URLRequest(url: "http://h/f?q", method: method, headers: ["B": "1"])
                request.timeoutInterval = 1.5
                return try URLEncodedFormParameterEncoder.default.encode(["x": "y z"], into: request)
            }
        }
        let log = TransportLog()
        for router in [Own(), Foundations(method: .get), Foundations(method: .post)] as [any OutgoingRequestConvertible]
        {
            _ = try await log.session().request(router).serializingData().value
        }
        #expect(log.requests.map(\.url.text) == ["http://h/own", "http://h/f?q&x=y%20z", "http://h/f?q"])
        #expect(log.requests.map(\.method) == ["PUT", "GET", "POST"])
        #expect(log.requests[0].fields.map(\.line) == ["A: 1", "a: 2"])
        #expect(log.requests[2].text == "x=y%20z" && log.requests[2]["B"] == "1")
        #expect(log.requests.map(\.timeouts.idle) == [.seconds(60), .seconds(1.5), .seconds(1.5)])
        #expect(log.requests[1].timeouts.firstByte == .seconds(1.5))
        #expect(try URLRequest(url: "http://h/", method: .get).headers.isEmpty)
    }

    @Test(
        "A URLRequest's timeout is used, for any number",
        arguments: [
            (1.5, .seconds(1.5)), (.infinity, nil), (.greatestFiniteMagnitude, nil), (1e30, nil), (2e9, nil),
            (.nan, .seconds(60)), (0, .seconds(60)), (-1, .seconds(60)),
        ] as [(Double, Duration?)])
    func timeouts(seconds: Double, expected: Duration?) async throws {
        let log = TransportLog()
        var configuration = SessionConfiguration.bare
        configuration.clock = ManualClock()
        configuration.options.timeouts.total = .seconds(7)
        var request = try URLRequest(url: "http://h/", method: .get)
        request.timeoutInterval = seconds
        _ = try await log.session(configuration).request(request).serializingData().value
        let sent = try #require(log.requests.first).timeouts
        #expect(sent.idle == expected && sent.firstByte == expected)
        #expect(sent.total == .seconds(7), "setting one limit keeps the others, the session's too")
    }

    @Test("An encoder's change that a URLRequest cannot carry is an error, and its method is used")
    func encodersOfRouters() throws {
        let request = try URLRequest(url: "http://h/", method: .get)
        let method = ClosureParameterEncoder { _, request in request.method = .put }
        #expect(try method.encode(1, into: request).httpMethod == "PUT")
        let body = ClosureParameterEncoder { _, request in request.body = .onceOnly }
        #expect(throws: RequestError.self) { try body.encode(1, into: request) }
        let problem = ClosureParameterEncoder { _, request in request.urlRequest.url = nil }
        #expect(throws: RequestError.self) { try problem.encode(1, into: request) }
        #expect(try body.encode(nil as Int?, into: request) == request)
    }

    // MARK: Base URLs

    private func target(of url: any URLConvertible, below base: any URLConvertible) async throws -> String {
        let log = TransportLog()
        let session = log.session(SessionConfiguration { $0.baseURL = base })
        _ = try await session.request(url).serializingData().value
        return try #require(log.requests.first).url.text
    }

    @Test(
        "A relative URL is resolved below the base, which counts as a folder",
        arguments: [
            ("http://h/v1", "foo", "http://h/v1/foo"), ("http://h/v1/", "foo", "http://h/v1/foo"),
            ("http://h", "foo", "http://h/foo"), ("http://h/v1", "/foo", "http://h/foo"),
            ("http://h/v1", "foo/", "http://h/v1/foo/"), ("http://h/v1", "/foo/", "http://h/foo/"),
            ("http://h/v1", "http://h2/", "http://h2/"), ("http://h/v1", "//h2/x", "http://h2/x"),
            ("http://h/v1", "", "http://h/v1/"), ("http://h/v1", "?q=1", "http://h/v1/?q=1"),
            ("http://h/v1", "../foo", "http://h/foo"), ("http://h/v1?q#f", "foo", "http://h/v1/foo"),
            ("http://h/a//b", "c d", "http://h/a//b/c%20d"), ("http://h//x", "y", "http://h//x/y"),
            ("http://h/v1", "users/7?a=b#f", "http://h/v1/users/7?a=b#f"),
        ])
    func relative(base: String, url: String, expected: String) async throws {
        #expect(try await target(of: url, below: base) == expected)
    }

    @Test("URL and URLComponents are resolved like text; a RequestURL and a custom URLConvertible are absolute")
    func relativeKinds() async throws {
        let base = "http://h/v1"
        #expect(try await target(of: try #require(URL(string: "a?b")), below: base) == "http://h/v1/a?b")
        #expect(try await target(of: try #require(URLComponents(string: "a?b")), below: base) == "http://h/v1/a?b")
        #expect(try await target(of: try RequestURL("http://x/"), below: base) == "http://x/")
        #expect(try await target(of: Counting(journal: Journal()), below: base) == "http://h/1")
    }

    @Test("User and password of the base are sent to its own origin only")
    func baseWithUser() async throws {
        let log = TransportLog()
        let session = log.session(
            SessionConfiguration {
                $0.baseURL = "http://u:p@h/v1"; $0.headers = [:]
            })
        for url in ["foo", "/foo", "http://h/foo", "//other/foo"] {
            _ = try await session.request(url).serializingData().value
        }
        let basic = HTTPHeader.authorization(username: "u", password: "p").value
        #expect(log.requests.map { $0["Authorization"] } == [basic, basic, nil, nil])
    }

    @Test("A relative URL without a base, and an invalid base, are errors of the request")
    func badBase() async throws {
        let log = TransportLog()
        let unbased = await log.session().request("foo").serializingData().response
        #expect(unbased.error?.code == .invalidURL)
        let session = log.session(SessionConfiguration { $0.baseURL = "no base" })
        let response = await session.request("foo").serializingData().response
        #expect(response.error?.code == .invalidURL)
        #expect(response.error?.stage == .building)
        #expect((response.error?.underlying as? RequestURLError)?.reason == .schemeMissing)
        #expect(log.count == 0)
    }
}
