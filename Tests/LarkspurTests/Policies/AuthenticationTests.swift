import Larkspur
import LarkspurTesting
import TestSupport
import Testing

private let basic = "Basic " + Data("ada:s3cret".utf8).base64EncodedString()
private let credential = Credential(username: "ada", password: "s3cret")

/// The rules alone: heads and requests in, a verdict out.
@Suite("Challenges in the hop policy", .limited)
struct ChallengePolicyTests {
    private func request(
        _ url: String = "http://h/a", headers: HTTPHeaders = [:], body: TransportBody = .none,
        preemptively isPreemptive: Bool = false
    ) throws -> OutgoingRequest {
        let method: HTTPMethod = body.length == 0 ? .get : .put
        var request = OutgoingRequest(method: method, url: try RequestURL(url), headers: headers, body: body)
        try Authentication(credential, isPreemptive: isPreemptive).join(&request)
        return request
    }

    private func head(_ status: Int = 401, _ challenges: String...) -> ResponseHead {
        ResponseHead(status: status, fields: challenges.map { HTTPHeader(name: "www-authenticate", value: $0) })
    }

    /// The request that follows, after both questions to the policy have given the same answer.
    private func next(after request: OutgoingRequest, _ head: ResponseHead) -> OutgoingRequest? {
        let isAnswered = HopPolicy.isAnswered(head, to: request)
        guard case .follow(let next, let isRedirect) = HopPolicy.verdict(on: [Hop(request: request, head: head)])
        else {
            #expect(!isAnswered, "the body was thrown away, and the head is the answer")
            return nil
        }
        #expect(isAnswered, "the body of what is answered reached somebody")
        #expect(!isRedirect || head.status < 400)
        return next
    }

    @Test(
        "A 401 that offers Basic is answered, unless it offers Digest too over clear text; nothing else is",
        arguments: [
            (401, ["Basic realm=a"], true), (401, ["bASIC"], true), (401, ["Digest realm=a, Basic realm=b"], false),
            (401, ["Negotiate", "Basic"], true), (401, [], false), (401, ["Digest realm=a"], false),
            (401, [#"Digest realm="Basic realm=a""#], false), (401, ["Basically"], false), (403, ["Basic"], false),
            (407, ["Basic"], false), (200, ["Basic"], false),
        ])
    func offers(status: Int, challenges: [String], isAnswered: Bool) throws {
        let fields = challenges.map { HTTPHeader(name: "WWW-Authenticate", value: $0) }
        let first = try request(headers: ["X": "1"])
        let next = next(after: first, ResponseHead(status: status, fields: fields))
        #expect(next?.headers.map(\.line) == (isAnswered ? ["X: 1", "Authorization: \(basic)"] : nil))
        #expect(next == nil || next?.url == first.url && next?.method == first.method)
    }

    @Test("A challenge to a request without a credential is delivered")
    func noCredential() throws {
        #expect(next(after: OutgoingRequest(url: try RequestURL("http://h/")), head(401, "Basic")) == nil)
    }

    @Test("A challenge to the credential itself is delivered", arguments: [false, true])
    func once(isPreemptive: Bool) throws {
        var current = try request(preemptively: isPreemptive)
        if !isPreemptive { current = try #require(next(after: current, head(401, "Basic"))) }
        #expect(current.headers.values(for: "Authorization") == [basic])
        #expect(next(after: current, head(401, "Basic")) == nil)
    }

    @Test("An Authorization field of the request's own stands, here and after every redirect")
    func ownField() throws {
        let own = try request(headers: ["authorization": "Bearer t"], preemptively: true)
        #expect(own.headers.values(for: "Authorization") == ["Bearer t"])
        #expect(next(after: own, head(401, "Basic")) == nil)
        let away = try #require(next(after: own, .redirect("http://other/")))
        let back = try #require(next(after: away, .redirect("http://h/b")))
        #expect(back.headers.isEmpty)
        #expect(next(after: back, head(401, "Basic")) == nil)
    }

    @Test("A body that can be sent only once is not sent again: the 401 is the answer")
    func onceOnly() throws {
        #expect(next(after: try request(body: .onceOnly), head(401, "Basic")) == nil)
        let replayable = try request(body: .file(path: "/f", length: 9))
        #expect(next(after: replayable, head(401, "Basic"))?.body.length == 9)
    }

    @Test(
        "Only the origin that the attempt began with is given the credential",
        arguments: [
            ("/b", true), ("http://H:80/b", true), ("https://h/b", false), ("http://h:81/b", false),
            ("http://other/b", false), ("http://sub.h/b", false),
        ])
    func origin(location: String, isGiven: Bool) throws {
        let first = try request()
        let plain = try #require(next(after: first, .redirect(location)))
        #expect((next(after: plain, head(401, "Basic")) != nil) == isGiven)
        let answered = try #require(next(after: first, head(401, "Basic")))
        for given in [try request(preemptively: true), answered] {
            let followed = try #require(next(after: given, .redirect(location)))
            #expect(followed.headers["Authorization"] == (isGiven ? basic : nil))
        }
    }

    @Test("Back at the first origin the credential is sent only if it is asked for again")
    func wayBack() throws {
        let first = try request(preemptively: true)
        let away = try #require(next(after: first, .redirect("http://other/")))
        let back = try #require(next(after: away, .redirect("http://h/b")))
        #expect(back.headers["Authorization"] == nil)
        let again = try #require(next(after: back, head(401, "Basic")))
        #expect(again.headers["Authorization"] == basic)
    }

    @Test("Challenges do not count as redirects")
    func limit() throws {
        var first = try request()
        first.options.redirects = .follow(limit: 1)
        let second = try #require(next(after: first, head(401, "Basic")))
        var hops = [Hop(request: first, head: head(401, "Basic")), Hop(request: second, head: .redirect("/b"))]
        guard case .follow(let third, true) = HopPolicy.verdict(on: hops) else {
            Issue.record()
            return
        }
        hops.append(Hop(request: third, head: .redirect("/c")))
        guard case .fail(let error) = HopPolicy.verdict(on: hops) else {
            Issue.record()
            return
        }
        #expect(error.code == .tooManyRedirects)
    }
}

extension ResponseHead {
    fileprivate static func redirect(_ location: String) -> ResponseHead {
        ResponseHead(status: 302, fields: [HTTPHeader(name: "Location", value: location)])
    }
}

extension MockResponse {
    fileprivate static let challenge = response(
        401, headers: ["WWW-Authenticate": #"Basic realm="a""#], chunks: [Data("who is there?".utf8)])
}

/// The whole way, over a server that knows one user.
@Suite("Authentication", .limited)
struct AuthenticationTests {
    private let server: MockServer
    private let session = Session()

    init() throws {
        server = try MockServer { request in
            request.headers["Authorization"] == basic ? .text("hello \(request.bodyCount)") : .challenge
        }
    }

    private var sent: [String?] { server.requests.map { $0.headers["Authorization"] } }

    @Test("A challenge is answered, and its 401 reaches neither validators nor serializers")
    func answered() async throws {
        let request = await session.request(server.url).authenticate(username: "ada", password: "s3cret").validate()
        #expect(try await request.serializingString().value == "hello 0")
        #expect(sent == [nil, basic])
        #expect(request.attempts.count == 1)
        #expect(request.attempts.first?.hops.map { $0.head?.status } == [401, 200])
        #expect(await request.serializingString().response.redirects.isEmpty)
    }

    @Test("Sent preemptively, it needs one hop")
    func preemptive() async throws {
        let request = await session.request(server.url).authenticate(with: credential, preemptively: true)
        #expect(try await request.serializingString().value == "hello 0")
        #expect(sent == [basic])
    }

    @Test("A wrong password is asked for once, and the second 401 is the answer", arguments: [false, true])
    func wrong(isPreemptive: Bool) async throws {
        let wrong = Credential(username: "ada", password: "wrong")
        let request = await session.request(server.url).authenticate(with: wrong, preemptively: isPreemptive)
        let response = await request.validate().serializingString().response
        #expect(response.error?.statusCode == 401)
        #expect(response.error?.responseData == Data("who is there?".utf8))
        #expect(sent.count == (isPreemptive ? 1 : 2))
    }

    @Test("A body that can be had again is uploaded once more after the challenge, all of it")
    func replayed() async throws {
        let folder = try TemporaryFolder()
        let bytes = [UInt8].pattern(300_000)
        let file = try folder.write(bytes)
        let stream = TransportBody.sequence { Pieces(elements: bytes.pieces(of: 7_000)) }
        for body in [.data(Data(bytes)), try .file(file), stream] as [TransportBody] {
            let request = await session.upload(body, to: server.url).authenticate(with: credential)
            let task = request.validate().serializingString()
            var last: TransferProgress?
            for await progress in request.uploadProgress {
                #expect(progress.completed >= last?.completed ?? 0)
                last = progress
            }
            #expect(try await task.value == "hello 300000")
        }
        #expect(sent == [nil, basic, nil, basic, nil, basic])
        #expect(server.requests.allSatisfy { $0.headers["Authorization"] == nil || Array($0.body) == bytes })
    }

    @Test("With a body that can be sent only once, the 401 is the answer")
    func onceOnly() async throws {
        let body = TransportBody.sequence(Pieces(elements: [[UInt8].pattern(100)]))
        let request = await session.upload(body, to: server.url).authenticate(with: credential)
        let response = await request.serializingString().response
        #expect(response.value == "who is there?")
        #expect(response.head?.status == 401)
        #expect(sent == [nil])
    }

    @Test("Credentials from an adapter or the URL are not replaced")
    func ownField() async throws {
        let adapted = await session.request(server.url).authenticate(with: credential, preemptively: true)
            .adapt(using: .adapter { request, _ in request.headers["Authorization"] = "Bearer t" })
        #expect(await adapted.serializingString().response.head?.status == 401)
        let url = server.url.replacing("http://", with: "http://eve:pw@")
        let named = await session.request(url).authenticate(with: credential, preemptively: true)
        #expect(await named.serializingString().response.head?.status == 401)
        #expect(sent == ["Bearer t", "Basic " + Data("eve:pw".utf8).base64EncodedString()])
    }

    @Test("Another origin that challenges is not answered")
    func otherOrigin() async throws {
        let other = try MockServer { _ in .challenge }
        server.on("GET", "/away", .redirect(to: other.url))
        for isPreemptive in [false, true] {
            let request = await session.request(server.url + "/away")
                .authenticate(with: credential, preemptively: isPreemptive)
            #expect(await request.serializingString().response.head?.status == 401)
        }
        #expect(other.requests.map { $0.headers["Authorization"] } == [nil, nil])
    }

    @Test("Each attempt begins with the challenge")
    func retried() async throws {
        server.on("GET", "/busy", .challenge, .text("", status: 503), .challenge, .text("ok"))
        let request = await session.request(server.url + "/busy").authenticate(with: credential).validate()
            .retry(using: .retrier { _, _, error in error.statusCode == 503 ? .retry : .doNotRetry })
        #expect(try await request.serializingString().value == "ok")
        #expect(sent == [nil, basic, nil, basic])
    }

    @Test(
        "A credential that Basic cannot carry is refused before anything is sent",
        arguments: [("a:da", "p"), ("a\nda", "p"), ("ada", "p\u{0}"), ("ada", "\u{7F}")])
    func invalid(username: String, password: String) async throws {
        let request = await session.request(server.url).authenticate(username: username, password: password)
        let error = try #require(await request.serializingString().response.error)
        #expect(error.code == .invalidCredential && error.stage == .building)
        #expect(!"\(error)".contains(username) && !"\(error)".contains(password) || password == "p")
        #expect(server.log.connectionsAccepted == 0)
    }

    @Test("Neither name nor password shows in descriptions, errors and commands")
    func secrets() async throws {
        var shown = "\(credential) \(String(reflecting: credential))"
        dump(credential, to: &shown)
        let wrong = Credential(username: "ada", password: "s3cret2")
        let request = await session.request(server.url).authenticate(with: wrong, preemptively: true).validate()
        let response = await request.serializingString().response
        let error = try #require(response.error)
        shown += "\(request) \(error) \(response.debugDescription) \(request.cURLDescription())"
        dump(request.request?.options, to: &shown)
        #expect(shown.contains("REDACTED"))
        for secret in ["ada", "s3cret", Data("ada:s3cret2".utf8).base64EncodedString()] {
            #expect(!shown.contains(secret), "\(secret)")
        }
    }
}
