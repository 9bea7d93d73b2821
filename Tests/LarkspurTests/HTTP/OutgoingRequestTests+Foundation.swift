import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The conversion to and from Foundation's URLRequest.
@Suite("OutgoingRequest.urlRequest", .limited)
struct OutgoingRequestFoundationTests {
    private func sample() throws -> OutgoingRequest {
        OutgoingRequest(
            method: .put, url: try RequestURL("http://h:81/a%20b?q=1#f"),
            headers: ["X-B": "1", "x-a": "2", "X-B": "3", "Accept": "a/b"], body: .data(Data("body".utf8)))
    }

    private func lines(_ request: OutgoingRequest) -> [String] { request.headers.map(\.line) }

    @Test("Reading returns the method, URL, fields and body data")
    func reading() throws {
        let request = try sample().urlRequest
        #expect(request.httpMethod == "PUT")
        #expect(request.url?.absoluteString == "http://h:81/a%20b?q=1#f")
        #expect(request.value(forHTTPHeaderField: "X-A") == "2")
        #expect(request.value(forHTTPHeaderField: "x-b")?.filter { $0 != " " } == "1,3")
        #expect(request.httpBody == Data("body".utf8))
        #expect(OutgoingRequest(url: try RequestURL("http://h/")).urlRequest.httpBody == nil)
    }

    @Test("Writing back an unchanged value changes nothing: order, repeated fields and spelling stay")
    func unchanged() throws {
        var request = try sample()
        let same = request.urlRequest
        request.urlRequest = same
        #expect(lines(request) == ["X-B: 1", "x-a: 2", "X-B: 3", "Accept: a/b"])
        #expect(request.url == (try sample()).url)
        #expect(request.method == .put)
        #expect(request.urlRequest.httpBody == Data("body".utf8))
        request.method = "get"
        request.urlRequest.setValue("1", forHTTPHeaderField: "X")
        #expect(request.method == "get")
    }

    @Test("A changed field keeps its position, and the others stay unchanged")
    func setField() throws {
        var request = try sample()
        request.urlRequest.setValue("new", forHTTPHeaderField: "x-a")
        #expect(request.headers["X-A"] == "new")
        #expect(request.headers.map(\.value) == ["1", "new", "3", "a/b"])
        request.urlRequest.setValue("one", forHTTPHeaderField: "X-B")
        #expect(request.headers.map(\.value) == ["one", "new", "a/b"])
        request.urlRequest.setValue("z", forHTTPHeaderField: "X-Z")
        #expect(request.headers.map(\.value) == ["one", "new", "a/b", "z"])
    }

    @Test("A removed field is removed with its repetitions")
    func removeField() throws {
        var request = try sample()
        request.urlRequest.setValue(nil, forHTTPHeaderField: "X-B")
        #expect(lines(request) == ["x-a: 2", "Accept: a/b"])
        request.urlRequest = URLRequest(url: try #require(URL(string: "http://h/")))
        #expect(request.headers.isEmpty)
    }

    @Test("The method and the body data are copied")
    func methodAndBody() throws {
        var request = try sample()
        request.urlRequest.httpMethod = "PATCH"
        #expect(request.method == .patch)
        request.urlRequest.httpBody = Data("other".utf8)
        #expect(request.urlRequest.httpBody == Data("other".utf8))
        request.urlRequest.httpBody = nil
        guard case .none = request.body else {
            Issue.record("\(request.body)")
            return
        }
    }

    @Test("A file or stream body, which a URLRequest cannot carry, stays unless a body is set")
    func otherBodies() throws {
        var request = try sample()
        request.body = .file(path: "/f", length: 3)
        #expect(request.urlRequest.httpBody == nil)
        request.urlRequest.setValue("1", forHTTPHeaderField: "X")
        guard case .file("/f", 3, nil) = request.body else {
            Issue.record("\(request.body)")
            return
        }
        request.body = .onceOnly
        request.urlRequest.httpMethod = "POST"
        #expect(!request.body.isReplayable)
        request.urlRequest.httpBody = Data("x".utf8)
        guard case .data(Data("x".utf8)) = request.body else {
            Issue.record("\(request.body)")
            return
        }
    }

    @Test("A changed URL is copied with its user and password, an unchanged URL keeps its own")
    func changedURL() throws {
        var request = OutgoingRequest(url: try RequestURL("http://user:pw@h/"))
        request.urlRequest.httpMethod = "POST"
        #expect(request.url.user == "user")
        request.urlRequest.url = URL(string: "https://a:b@other/p?q")
        #expect(request.url.text == "https://other/p?q")
        #expect(request.url.user == "a")
        #expect(request.url.password == "b")
    }

    @Test(
        "An invalid URL set through the bridge is reported before sending",
        arguments: ["relative/path", "//h/x", "file:///x", "http://127.1/", nil])
    func badURL(text: String?) async throws {
        let log = TransportLog()
        let adapter = Interceptor(adapt: { request, _ in request.urlRequest.url = text.flatMap(URL.init(string:)) })
        let response = await log.session(interceptor: adapter).request("http://h/").serializingData().response
        #expect(response.error?.code == .invalidURL)
        #expect(response.error?.stage == .building)
        #expect(log.count == 0)
    }

    @Test("A body stream set through the bridge is sent, and kept by later changes through the bridge")
    func bodyStream() async throws {
        let server = try MockServer { .text(String(decoding: $0.body, as: UTF8.self)) }
        let adapter = Interceptor(adapt: { request, _ in
            request.urlRequest.httpBodyStream = InputStream(data: Data("body".utf8))
            request.urlRequest.setValue("1", forHTTPHeaderField: "X-A")
        })
        let request = await Session(interceptor: adapter).request(server.url + "/", method: .post)
        #expect(try await request.serializingString().value == "body")
    }

    @Test("The body stream of a URLRequest is sent once: a retry and a second request fail, and send no empty body")
    func bodyStreamOnce() async throws {
        var request = URLRequest(url: try #require(URL(string: "http://h/")))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        let body = try request.asOutgoingRequest().body
        #expect(!body.isReplayable && body.length == nil)
        #expect(try await body.pulled() == Array("body".utf8))
        let again = try request.asOutgoingRequest().body
        let error = await #expect(throws: TransportError.self) { try await again.pulled() }
        #expect(error?.code == .bodyFailed && error?.message.contains("was read before") == true)
        let log = TransportLog()
        let session = log.session(interceptor: .retry(limit: 3)) { _, _ in .failure(.connectionLost) }
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        _ = await session.request(request).serializingData().response
        #expect(log.count == 1)
    }

    @Test("A URLRequest can be requested, with its method, fields and body")
    func convertible() async throws {
        let log = TransportLog()
        var request = URLRequest(url: try #require(URL(string: "http://us:pw@h/a?q=1")))
        request.httpMethod = "PUT"
        request.setValue("1", forHTTPHeaderField: "X-A")
        request.httpBody = Data("body".utf8)
        let session = log.session(SessionConfiguration { $0.headers = ["X-S": "2"] })
        _ = try await session.request(request).serializingData().value
        let sent = try #require(log.requests.first)
        #expect(sent.method == "PUT")
        #expect(sent.url.text == "http://h/a?q=1")
        #expect(sent.text == "body")
        #expect(sent["X-A"] == "1")
        #expect(sent["X-S"] == "2")
        #expect(sent["Authorization"] == "Basic " + Data("us:pw".utf8).base64EncodedString())
    }

    @Test("An OutgoingRequest keeps the order and the repetition of its fields")
    func outgoing() async throws {
        let log = TransportLog()
        let response = await log.session().request(try sample()).serializingData().response
        #expect(log.requests.first?.fields == Array(try sample().headers))
        #expect(response.request.map(lines) == ["X-B: 1", "x-a: 2", "X-B: 3", "Accept: a/b"])
    }

    @Test("A session's options apply to prepared requests too")
    func sessionOptions() async throws {
        let log = TransportLog()
        let session = log.session(SessionConfiguration { $0.options.redirects = .deliver }) { _, _ in
            .redirect(to: "/b")
        }
        let request = URLRequest(url: try #require(URL(string: "http://h/")))
        let response = await session.request(request).serializingData().response
        #expect(response.head?.status == 302)
        #expect(log.count == 1)
    }

    @Test("A response is Foundation's value of the last hop, with repeated fields joined")
    func response() async throws {
        let log = TransportLog()
        let session = log.session { _, number in
            number == 1 ? .redirect(to: "/b?x=1") : .response(201, headers: ["X-A": "1", "X-A": "2", "ETag": "e"])
        }
        let response = await session.request("http://h/a").serializingData().response
        let foundation = try #require(response.response)
        #expect(foundation.url?.absoluteString == "http://h/b?x=1")
        #expect(foundation.statusCode == 201)
        #expect(foundation.value(forHTTPHeaderField: "x-a") == "1, 2")
        #expect(foundation.value(forHTTPHeaderField: "etag") == "e")
        #expect(response.head?.values(for: "x-a") == ["1", "2"])
    }
}
