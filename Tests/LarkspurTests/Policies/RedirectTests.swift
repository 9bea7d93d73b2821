import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// The hop policy at work: a session over a stub transport.
@Suite("Redirects", .limited)
struct RedirectTests {
    private let log = TransportLog()

    /// A session whose server knows these paths; any other is answered with the path itself.
    private func session(
        _ answers: [String: StubAnswer], _ configuration: SessionConfiguration = SessionConfiguration()
    ) -> Session {
        log.session(configuration) { request, _ in
            answers[String(request.url.target)] ?? .text("body of \(request.url.target)")
        }
    }

    private var sent: [String] { log.requests.map { "\($0.method) \($0.url.text)" } }

    @Test("Redirects are followed, and the last response is the request's")
    func followed() async throws {
        let session = session(["/a": .redirect(301, to: "/b"), "/b": .redirect(307, to: "http://other/c")])
        let request = await session.request("http://h/a")
        let response = await request.serializingString().response
        #expect(response.value == "body of /c")
        #expect(response.request?.url.text == "http://other/c")
        #expect(response.head?.status == 200)
        #expect(request.head?.status == 200)
        #expect(sent == ["GET http://h/a", "GET http://h/b", "GET http://other/c"])
    }

    @Test("Percent signs of a Location that begin no escape are sent as they are")
    func looseEscapes() async throws {
        let server = try MockServer { request in
            request.target == "/a" ? .redirect(to: "/t%zz?50%") : .text("ok")
        }
        let request = await Session().request(server.url + "/a")
        #expect(try await request.serializingString().value == "ok")
        #expect(server.requests.map(\.target) == ["/a", "/t%zz?50%"])
    }

    @Test("The attempt keeps every hop with request, head and metrics")
    func history() async throws {
        let session = session(["/a": .redirect(301, to: "/b"), "/b": .redirect(303, to: "/c")])
        let request = await session.request("http://h/a", method: .post)
        _ = await request.serializingData().response
        #expect(request.attempts.count == 1)
        #expect(request.retryCount == 0)
        let attempt = try #require(request.attempts.first)
        #expect(attempt.request?.url.text == "http://h/a")
        #expect(attempt.hops.map(\.request.url.text) == ["http://h/a", "http://h/b", "http://h/c"])
        #expect(attempt.hops.map(\.request.method) == [.post, .get, .get])
        #expect(attempt.hops.map { $0.head?.status } == [301, 303, 200])
        #expect(attempt.hops.map { $0.head?["Location"] } == ["/b", "/c", nil])
        #expect(attempt.hops.allSatisfy { $0.metrics != nil && $0.error == nil })
        #expect(attempt.error == nil)
    }

    @Test("A redirect's body never reaches the response", arguments: [0, 5, 65_536])
    func bodyKeptAway(length: Int) async throws {
        let chunk = Data(repeating: 0x78, count: length)
        let answer = StubAnswer.response(302, headers: ["Location": "/b"], chunks: [chunk])
        let request = await session(["/a": answer]).request("http://h/a")
        let response = await request.serializingString().response
        #expect(response.value == "body of /b")
        #expect(request.attempts.first?.hops.first?.metrics?.responseBodyBytes == UInt64(length))
        #expect(request.attempts.first?.hops.first?.error == nil)
    }

    @Test("A redirect's body of more than 64 KiB ends its hop and fails nothing")
    func longBody() async throws {
        let chunks = Array(repeating: Data(repeating: 0x78, count: 1 << 14), count: 100)
        let answer = StubAnswer.response(302, headers: ["Location": "/b"], chunks: chunks)
        let request = await session(["/a": answer]).request("http://h/a").validate()
        let response = await request.serializingString().response
        #expect(response.error == nil)
        #expect(response.value == "body of /b")
        let first = try #require(request.attempts.first?.hops.first)
        #expect(first.error == nil)
        let read = try #require(first.metrics?.responseBodyBytes)
        #expect(read > 65_536 && read <= 65_536 + (1 << 15))
    }

    @Test("A redirect whose body breaks off is followed all the same")
    func brokenBody() async throws {
        let head = ResponseHead(status: 302, fields: [HTTPHeader(name: "Location", value: "/b")])
        let answer = StubAnswer([.head(head), .body(Data("x".utf8)), .fail(TransportError(.connectionLost))])
        #expect(try await session(["/a": answer]).request("http://h/a").serializingString().value == "body of /b")
    }

    @Test(
        "Body and content fields go along with 307 and 308, and stay behind with the others",
        arguments: [302, 303, 307, 308])
    func bodies(status: Int) async throws {
        let session = session(["/a": .redirect(status, to: "/b")])
        let request = await session.request("http://h/a", method: .post, parameters: ["k": "v"], encoder: .json)
        _ = try await request.serializingData().value
        let last = try #require(log.requests.last)
        let goesAlong = status > 303
        #expect(last.method == (goesAlong ? "POST" : "GET"))
        #expect(last.text == (goesAlong ? #"{"k":"v"}"# : ""))
        #expect(last["Content-Type"] == (goesAlong ? "application/json" : nil))
    }

    @Test("Basic credentials of the URL stay within its origin")
    func basic() async throws {
        let session = session(["/a": .redirect(to: "/b"), "/b": .redirect(to: "https://h/c")])
        _ = try await session.request("http://user:pw@h/a").serializingData().value
        let basic = "Basic " + Data("user:pw".utf8).base64EncodedString()
        #expect(log.requests.map { $0["Authorization"] } == [basic, basic, nil])
        #expect(log.requests.allSatisfy { $0.url.user == nil })
    }

    @Test("A session's fields do not bring back what a redirect has dropped")
    func sessionFields() async throws {
        let configuration = SessionConfiguration { $0.headers = ["Authorization": "s", "Cookie": "c", "X": "1"] }
        let session = session(["/a": .redirect(to: "http://other/b")], configuration)
        _ = try await session.request("http://h/a").serializingData().value
        #expect(log.requests.map { $0.fields.map(\.name) } == [["Authorization", "Cookie", "X"], ["X"]])
    }

    @Test("User and password in a Location are neither sent nor shown")
    func userInfoInLocation() async throws {
        let session = session(["/a": .redirect(to: "http://us3r:p4ss@other/b")], .bare)
        let request = await session.request("http://h/a")
        _ = try await request.serializingData().value
        let last = try #require(log.requests.last)
        #expect(last.url.text == "http://other/b")
        #expect(last.fields.isEmpty && last.url.user == nil)
        #expect(!"\(request)".contains("us3r"))
    }

    @Test("Adapters see the attempt and not its redirects")
    func adaptersOnce() async throws {
        let journal = Journal()
        let adapter = Interceptor(adapt: { request, _ in
            journal.note(request.url.text)
            request.headers["X-Signed"] = "1"
        })
        let request = await session(["/a": .redirect(to: "/b")]).request("http://h/a", interceptor: adapter)
        _ = try await request.serializingData().value
        #expect(journal.lines == ["http://h/a"])
        #expect(log.requests.map { $0["X-Signed"] } == ["1", "1"])
    }

    // MARK: Failures

    @Test("A redirect to another scheme fails the request, with the redirect's status")
    func refused() async throws {
        let session = session(["/a": .redirect(to: "file:///etc/passwd")])
        let response = await session.request("http://h/a").serializingData().response
        let error = try #require(response.error)
        #expect(error.code == .redirectRefused)
        #expect(error.stage == .sending)
        #expect(error.statusCode == 302)
        #expect(error.responseHead?["Location"] == "file:///etc/passwd")
        #expect(error.url?.text == "http://h/a")
        #expect(error.isConnectivity == false)
        #expect(log.count == 1)
    }

    @Test("More redirects than the limit fail the request")
    func tooMany() async throws {
        let session = log.session { _, number in .redirect(to: "/\(number)") }
        let request = await session.request("http://h/0")
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == .tooManyRedirects)
        #expect(error.stage == .sending)
        #expect(log.count == 21)
        #expect(request.attempts.first?.hops.count == 21)
    }

    @Test("The limit can be set for a session and for a request")
    func ownLimit() async throws {
        let configuration = SessionConfiguration { $0.options.redirects = .follow(limit: 2) }
        let session = log.session(configuration) { _, number in .redirect(to: "/\(number)") }
        #expect(await session.request("http://h/x").serializingData().response.error?.code == .tooManyRedirects)
        #expect(log.count == 3)
        let request = await session.request("http://h/y") { $0.options.redirects = .follow(limit: 0) }
        #expect(await request.serializingData().response.error?.code == .tooManyRedirects)
        #expect(log.count == 4)
    }

    @Test("A loop fails the request at once")
    func loop() async throws {
        let session = session(["/a": .redirect(to: "/b"), "/b": .redirect(to: "/a")])
        let error = try #require(await session.request("http://h/a").serializingData().response.error)
        #expect(error.code == .redirectLoop)
        #expect(sent == ["GET http://h/a", "GET http://h/b"])
    }

    @Test("A body that can be sent only once fails the request that would send it again", arguments: [307, 308])
    func onceOnly(status: Int) async throws {
        let session = session(["/a": .redirect(status, to: "/b")])
        let request = await session.request("http://h/a", method: .post) { $0.body = .onceOnly }
        let error = try #require(await request.serializingData().response.error)
        #expect(error.code == .bodyNotReplayable)
        #expect(error.stage == .sending)
        #expect(error.statusCode == status)
        #expect(log.count == 1)
    }

    @Test("Retriers are asked about a redirect that failed, and a new attempt begins at the first URL")
    func retried() async throws {
        let session = log.session { request, number in
            number == 1 ? .redirect(to: "/b") : number == 2 ? .failure(.connectionLost) : .text("ok")
        }
        let request = await session.request("http://h/a", interceptor: .retrier { _, _, _ in .retry })
        _ = try await request.serializingData().value
        #expect(sent == ["GET http://h/a", "GET http://h/b", "GET http://h/a"])
        #expect(request.attempts.map(\.hops.count) == [2, 1])
    }

    // MARK: Delivered

    @Test("A redirect without a Location is delivered with its body")
    func noLocation() async throws {
        let answer = StubAnswer.response(302, chunks: [Data("choose".utf8)])
        let response = await session(["/a": answer]).request("http://h/a").serializingString().response
        #expect(response.value == "choose")
        #expect(response.head?.status == 302)
        #expect(log.count == 1)
    }

    @Test("With .deliver the redirect is the response, body included", arguments: ["session", "modifier", "adapter"])
    func deliver(way: String) async throws {
        let answer = StubAnswer.response(302, headers: ["Location": "/b"], chunks: [Data("moved".utf8)])
        let configuration = SessionConfiguration { if way == "session" { $0.options.redirects = .deliver } }
        let request = await session(["/a": answer], configuration).request("http://h/a") {
            if way == "modifier" { $0.options.redirects = .deliver }
        }
        if way == "adapter" {
            request.adapt(using: Interceptor(adapt: { request, _ in request.options.redirects = .deliver }))
        }
        let response = await request.serializingString().response
        #expect(response.value == "moved")
        #expect(response.head?["Location"] == "/b")
        #expect(log.count == 1)
    }

    @Test("A delivered redirect fails validation like any status outside 200..<300")
    func deliveredValidated() async throws {
        let session = session(["/a": .response(302)])
        let error = await session.request("http://h/a").validate().serializingData().response.error
        #expect(error?.code == .unacceptableStatus)
    }
}
