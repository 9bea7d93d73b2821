import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("Requests that must never be sent", .limited)
struct OutgoingRequestTests {
    private let log = TransportLog()

    /// Sends a request that must be refused, and returns its error. No request may have reached the transport.
    private func refusal(
        of request: OutgoingRequest, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RequestError {
        let response = await log.session().request(request).serializingData().response
        #expect(log.count == 0, "the transport must not see it", sourceLocation: sourceLocation)
        #expect(response.head == nil, sourceLocation: sourceLocation)
        return try #require(response.error, sourceLocation: sourceLocation)
    }

    private func base() throws -> OutgoingRequest { OutgoingRequest(url: try RequestURL("http://h/path")) }

    // MARK: Methods and fields

    @Test(
        "A method that is not a token is refused",
        arguments: [
            "", " ", "GET ", " GET", "GE T", "GET\r\n", "GET\n", "GET\r", "GET\u{0}", "GET\u{7F}", "GET\t", "GET/",
            "GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET", "GÉT", "GET:", "(GET)", "G\"T", "G@T", "G[T", "G\\T", "G{T",
        ])
    func badMethod(method: String) async throws {
        var request = try base()
        request.method = HTTPMethod(rawValue: method)
        let error = try await refusal(of: request)
        #expect(error.code == .invalidRequest)
        #expect(error.stage == .building)
    }

    @Test(
        "A field name that is not a token is refused",
        arguments: [
            "", " ", "X A", "X ", " X", "X:", ":X", "X\r\nEvil", "X\n", "X\r", "X\u{0}", "X\u{7F}", "X\t", "Ü", "X(",
            "X/", "X=", "X,", "X;", "\"X\"", "X@", "[X]", "X\\", "{X}", "X?", "<X>",
        ])
    func badName(name: String) async throws {
        var request = try base()
        request.headers.add(name: name, value: "v")
        let error = try await refusal(of: request)
        #expect(error.code == .invalidRequest)
        #expect(error.stage == .building)
    }

    @Test(
        "A field value with a line break or control character is refused, and not shown",
        arguments: [
            "\r\n", "s3cret\r\nEvil: 1", "s3cret\nEvil: 1", "s3cret\r", "\ns3cret", "s3\u{0}cret", "s3\u{7F}cret",
            "s3\u{1}cret", "s3\u{8}cret", "s3\u{B}cret", "s3\u{1B}cret", "s3\u{1F}cret", "s3cret\r\n continued",
        ])
    func badValue(value: String) async throws {
        var request = try base()
        request.headers.add(name: "X-Key", value: value)
        let error = try await refusal(of: request)
        #expect(error.code == .invalidRequest)
        #expect(error.stage == .building)
        #expect(error.description.contains("X-Key"))
        #expect(!error.description.contains("s3"))
        #expect(!error.description.contains("\n"))
    }

    @Test(
        "A session's own fields are checked in each of its requests, like the request's fields",
        arguments: [
            ["X-Key": "s3cret\r\nEvil: 1"], ["X A": "1"], ["Host": "a", "host": "b"], ["Content-Length": "4"],
            ["Transfer-Encoding": "chunked"],
        ] as [HTTPHeaders])
    func badFieldsOfSession(fields: HTTPHeaders) async throws {
        let session = log.session(SessionConfiguration { $0.headers = fields })
        for _ in 0..<2 {
            let error = try #require(await session.request("http://h/path").serializingData().response.error)
            #expect(error.code == .invalidRequest)
        }
        let body = TransportBody.data(Data("four".utf8))
        let post = OutgoingRequest(method: .post, url: try RequestURL("http://h/path"), body: body)
        let isLength = fields["Content-Length"] != nil
        #expect(
            await session.request(post).serializingData().response.error?.code == (isLength ? nil : .invalidRequest))
        #expect(log.count == (isLength ? 1 : 0))
    }

    @Test(
        "A GET with a body is refused, wherever the body comes from, and is sent with the option",
        arguments: ["request", "adapter"])
    func bodyInGET(origin: String) async throws {
        var request = try base()
        if origin == "request" { request.body = .data(Data("x".utf8)) }
        let interceptor = Interceptor(adapt: { request, _ in request.body = .data(Data("x".utf8)) })
        let session = log.session(interceptor: origin == "adapter" ? interceptor : nil)
        let error = try #require(await session.request(request).serializingData().response.error)
        #expect(error.code == .bodyInGETRequest)
        #expect(error.stage == .building)
        #expect(log.count == 0)
        request.options.allowsBodyInGET = true
        _ = try await session.request(request).serializingData().value
        #expect(log.requests.map(\.text) == ["x"])
    }

    @Test("An empty body in a GET, and a body in any other method, are sent")
    func lawfulBodies() async throws {
        for (method, body) in [(HTTPMethod.get, ""), (.query, "q"), (.delete, "d"), (.head, "h"), ("get", "g")] {
            var request = try base()
            request.method = method
            request.body = .data(Data(body.utf8))
            _ = try await log.session().request(request).serializingData().value
            #expect(log.requests.last?.text == body)
        }
    }

    @Test(
        "A length or coding that does not match the body is refused",
        arguments: [
            ("Content-Length", "3"), ("content-length", ""), ("Content-Length", "+4"), ("Content-Length", "4, 4"),
            ("Content-Length", "-4"), ("Transfer-Encoding", "chunked"), ("transfer-encoding", "gzip"),
        ])
    func contradictingLength(name: String, value: String) async throws {
        var request = try base()
        request.method = .post
        request.body = .data(Data("four".utf8))
        request.headers.add(name: name, value: value)
        let error = try await refusal(of: request)
        #expect(error.code == .invalidRequest)
    }

    @Test(
        "Two fields of a name that allows only one are refused",
        arguments: ["Authorization", "Content-Type", "Host", "User-Agent"])
    func repeatedSingle(name: String) async throws {
        var request = try base()
        request.headers = HTTPHeaders([
            HTTPHeader(name: name, value: "s3cret"), HTTPHeader(name: name.lowercased(), value: "b"),
        ])
        let error = try await refusal(of: request)
        #expect(error.code == .invalidRequest)
    }

    @Test("A length that matches the body is allowed")
    func matchingLength() async throws {
        var request = try base()
        request.method = .post
        request.body = .data(Data("four".utf8))
        request.headers.add(name: "Content-Length", value: "4")
        #expect(await log.session().request(request).serializingData().response.error == nil)
    }

    @Test(
        "A body of the chosen size or more waits for 100 Continue",
        arguments: [(nil, 9, false), (10, 9, false), (9, 9, true), (0, 0, false), (0, 1, true), (10, nil, true)]
            as [(UInt64?, Int?, Bool)])
    func expectsContinue(threshold: UInt64?, length: Int?, expects: Bool) async throws {
        var request = try base()
        request.method = .put
        request.options.expectsContinueFrom = threshold
        let unknown = TransportBodySource(length: nil, isReplayable: true) { EmptyBodyStream() }
        request.body = length.map { .data(Data(count: $0)) } ?? .stream(unknown)
        _ = try await log.session().request(request).serializingData().value
        #expect(log.requests.last?["Expect"] == (expects ? "100-continue" : nil))
    }

    @Test("Every other method, name and value is sent unchanged")
    func lawful() async throws {
        let methods = ["GET", "get", "M-SEARCH", "QUERY", "X!#$%&'*+-.^_`|~9"]
        let values = ["", "a \tb", "ü €", "🎉", "~!@#$%^&*()_+{}|:\"<>?", String(repeating: "x", count: 9000)]
        for method in methods {
            var request = try base()
            request.method = HTTPMethod(rawValue: method)
            request.headers = HTTPHeaders(values.map { HTTPHeader(name: "!#$%&'*+-.^_`|~9aZ", value: $0) })
            let response = await log.session().request(request).serializingData().response
            #expect(response.error == nil)
            #expect(log.requests.last?.method == method)
            #expect(log.requests.last?.fields.map(\.value) == values)
        }
        #expect(log.count == methods.count)
    }

    @Test(
        "The check covers every source: a modifier, a session's fields, the last adapter",
        arguments: ["modifier", "session", "session's adapter", "request's adapter", "urlRequest"])
    func everyWay(way: String) async throws {
        let bad = HTTPHeader(name: "X", value: "a\r\nEvil: 1")
        let adapter = Interceptor(adapt: { request, _ in request.headers.add(name: bad.name, value: bad.value) })
        let session = log.session(
            SessionConfiguration { if way == "session" { $0.headers = [bad] } },
            interceptor: way == "session's adapter" ? adapter : nil)
        let request = await session.request("http://h/") { request in
            if way == "modifier" { request.headers.add(name: bad.name, value: bad.value) }
            if way == "urlRequest" { request.urlRequest.httpMethod = "GET /\r\n" }
        }
        if way == "request's adapter" { request.adapt(using: adapter) }
        #expect(await request.serializingData().response.error?.code == .invalidRequest)
        #expect(log.count == 0)
    }

    // MARK: URLs

    @Test(
        "A URL that is not http or https with a host is refused",
        arguments: [
            "ftp://h/f", "file:///etc/passwd", "ws://h/", "wss://h/", "mailto:a@b.example", "data:text/plain,x",
            "about:blank", "http:g", "https:/path", "javascript:alert(1)", "httpx://h/",
        ])
    func notHTTP(text: String) async throws {
        let error = try await refusal(of: OutgoingRequest(url: try RequestURL(text)))
        #expect(error.code == .invalidURL)
        #expect(error.stage == .building)
    }

    @Test("The error of a refused URL does not show its query")
    func refusedQuery() async throws {
        let error = try await refusal(of: OutgoingRequest(url: try RequestURL("ftp://user:pw@h/f?token=s3cret")))
        #expect(!error.description.contains("s3cret"))
        #expect(!error.description.contains("pw"))
        #expect(error.description.contains("ftp"))
    }

    // MARK: User and password

    @Test(
        "User and password of the URL become one Basic field, percent-decoded, and are removed from the URL",
        arguments: [
            ("user:pass", "user:pass"), ("user", "user:"), ("user:", "user:"), (":pass", ":pass"),
            ("us%40er:p%3Ass", "us@er:p:ss"), ("%C3%BC:%F0%9F%8E%89", "ü:🎉"), ("a:b:c", "a:b:c"),
        ])
    func userInfo(written: String, pair: String) async throws {
        let request = await log.session().request("http://\(written)@h:81/path?q=1#f")
        let response = await request.serializingData().response
        #expect(response.error == nil)
        let sent = try #require(log.requests.first)
        let basic = "Basic " + Data(pair.utf8).base64EncodedString()
        #expect(sent.fields.filter { $0.name == "Authorization" }.map(\.value) == [basic])
        #expect(sent.url.text == "http://h:81/path?q=1#f")
        #expect(sent.url.target == "/path?q=1")
        #expect(sent.url.user == nil)
        #expect(sent.url.password == nil)
        #expect(response.request?.url.user == nil)
        #expect(response.response?.url?.absoluteString == "http://h:81/path?q=1#f")
        #expect(response.request?.urlRequest.url?.user == nil)
        #expect(request.attempts.first?.request?.url.user == nil)
    }

    @Test(
        "An explicit Authorization field takes precedence over user and password, from any source",
        arguments: ["request", "session", "adapter"])
    func explicitAuthorization(origin: String) async throws {
        let own: HTTPHeaders = ["authorization": "Bearer t"]
        let session = log.session(
            SessionConfiguration { $0.headers = origin == "session" ? own : [:] },
            interceptor: origin == "adapter" ? Interceptor(adapt: { request, _ in request.headers = own }) : nil)
        let request = await session.request("http://user:pass@h/", headers: origin == "request" ? own : [:])
        #expect(await request.serializingData().response.error == nil)
        let sent = try #require(log.requests.first)
        #expect(sent.fields.map(\.line) == ["authorization: Bearer t"])
        #expect(sent.url.user == nil)
    }

    @Test(
        "No error or description shows user and password, and neither does the error's URL",
        arguments: ["sending", "validating", "adapting", "building"])
    func userInfoInErrors(stage: String) async throws {
        let adapter = Interceptor(adapt: { request, _ in
            if stage == "adapting" { throw ForeignError() }
            if stage == "building" { request.method = "B AD" }
        })
        let session = log.session(interceptor: adapter) { _, _ in
            stage == "sending" ? .failure(.connectionLost) : .response(500)
        }
        let request = await session.request("http://us3r:p4ss@h/path").validate()
        let error = try #require(await request.serializingData().response.error)
        #expect(error.stage?.rawValue == stage)
        for text in ["\(error)", error.message, error.localizedDescription, "\(request)", "\(error.url as Any)"] {
            #expect(!text.contains("us3r") && !text.contains("p4ss"), "\(text)")
        }
        #expect(error.url?.user == nil)
    }

    @Test("A request's description has the method, origin and path, and neither query nor user")
    func requestDescription() async throws {
        let request = await log.session().request("http://us3r:p4ss@h:81/path?token=s3cret", method: .put)
        #expect("\(request)".contains("not built yet"))
        _ = await request.serializingData().response
        #expect("\(request)" == "PUT http://h:81/path (200)")
        let plain = await log.session().request("https://[2001:DB8::1]:443/a?b")
        _ = await plain.serializingData().response
        #expect("\(plain)" == "GET https://[2001:db8::1]/a (200)")
    }
}
