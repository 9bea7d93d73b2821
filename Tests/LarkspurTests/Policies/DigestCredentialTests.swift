import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

private let ada = Credential(username: "ada", password: "s3cret")
private let basic = "Basic " + Data("ada:s3cret".utf8).base64EncodedString()

private func parameters(of request: TransportRequest?) -> AuthenticationChallenge {
    AuthenticationChallenge.parse([request?["Authorization"] ?? ""]).first ?? AuthenticationChallenge("none")
}

/// Knows one user, and gives each nonce so many uses. It accepts an answer with the next number and the right hash
/// only.
private final class DigestServer: Sendable {
    private let box = Protected((nonce: 1, uses: 0))
    private let lives: Int
    private let saysStale: Bool
    private let options: String
    private let others: [String]

    init(
        lives: Int = .max, saysStale: Bool = true, options: String = #"qop="auth", algorithm=SHA-256"#,
        others: String...
    ) {
        (self.lives, self.saysStale, self.options, self.others) = (lives, saysStale, options, others)
    }

    func answer(_ request: TransportRequest, body: String = "") -> StubAnswer {
        let given = parameters(of: request)
        return box.withLock { box in
            let isCurrent = given["nonce"] == "nonce \(box.nonce)"
            let number = given["nc"].flatMap { Int($0, radix: 16) } ?? 1
            if isCurrent, number == box.uses + 1, number <= lives, isRight(given, request, body) {
                box.uses += 1
                return .text("in")
            }
            let isStale = given["nonce"] != nil && (!isCurrent || number > lives)
            box = (box.nonce + 1, 0)
            let stale = isStale && saysStale ? ", stale=TRUE" : ""
            let digest = #"Digest realm="r", nonce="nonce \#(box.nonce)", \#(options)\#(stale)"#
            let fields = (others + [digest]).map { HTTPHeader(name: "WWW-Authenticate", value: $0) }
            return .response(401, headers: HTTPHeaders(fields), chunks: [Data("who?".utf8)])
        }
    }

    private func isRight(_ given: AuthenticationChallenge, _ request: TransportRequest, _ body: String) -> Bool {
        let value = #"Digest realm="r", nonce="\#(given["nonce"] ?? "")", \#(options)"#
        let head = ResponseHead(status: 401, fields: [HTTPHeader(name: "WWW-Authenticate", value: value)])
        guard let challenge = DigestChallenge.strongest(in: head) else { return false }
        let answer = DigestAnswer(
            challenge: challenge, protection: given["qop"].flatMap(DigestChallenge.Protection.init),
            method: request.method, target: String(request.url.target),
            bodyHash: StreamingHash.hexadecimal(body, challenge.algorithm.hash), clientNonce: given["cnonce"] ?? "",
            count: Int(given["nc"] ?? "", radix: 16) ?? 0)
        return answer.response(for: DigestUser(name: "ada", password: "s3cret")) == given["response"]
    }
}

@Suite("Digest by credentials", .limited)
struct DigestCredentialTests {
    private let log = TransportLog()
    private let store = CredentialStore()

    private func session(_ answer: @escaping @Sendable (TransportRequest) -> StubAnswer) -> Session {
        log.session(SessionConfiguration { $0.credentials = store }) { request, _ in answer(request) }
    }

    private func session(_ server: DigestServer) -> Session { session { server.answer($0) } }

    /// The scheme and the number of each request's credentials.
    private var sent: [String] {
        log.requests.map { request in
            let given = parameters(of: request)
            return given.isScheme("Digest") ? Int(given["nc"] ?? "", radix: 16).map { "\($0)" } ?? "?" : given.scheme
        }
    }

    // MARK: The choice

    @Test(
        "The strongest scheme that is offered answers, in whatever order and in however many fields",
        arguments: [
            (["Basic realm=r", "Digest realm=r, nonce=1"], "https", "Digest", "1"),
            (["Digest realm=r, nonce=1, Basic realm=r"], "http", "Digest", "1"),
            (["Digest realm=r, nonce=1", "Digest realm=r, nonce=2, algorithm=SHA-256, Basic"], "http", "Digest", "2"),
            (["Digest realm=r, nonce=1, algorithm=SHA-256-sess, Digest realm=r, nonce=2"], "http", "Digest", "1"),
            (
                [#"Basic realm="Digest realm=r, nonce=9", Negotiate, Digest realm="r,\"", nonce=3"#], "http", "Digest",
                "3"
            ),
            (["Digest realm=r, nonce=1, algorithm=SHA-1, Basic realm=r"], "https", "Basic", nil),
            (["Digest realm=r, nonce=1, algorithm=SHA-1, Basic realm=r"], "http", "none", nil),
            (["Digest realm=r", "Basic realm=r"], "http", "none", nil),
            (["Digest realm=r, nonce=1, qop=\"auth-conf\", Basic realm=r"], "https", "Basic", nil),
            (["Basic realm=r"], "http", "Basic", nil),
        ] as [([String], String, String, String?)])
    func choice(challenges: [String], scheme: String, chosen: String, nonce: String?) async throws {
        let fields = HTTPHeaders(challenges.map { HTTPHeader(name: "WWW-Authenticate", value: $0) })
        let session = session { _ in .response(401, headers: fields) }
        let request = await session.request("\(scheme)://h/").authenticate(with: ada)
        #expect(await request.serializingData().response.head?.status == 401)
        #expect(log.count == (chosen == "none" ? 1 : 2), "a refused credential is not sent again")
        let given = parameters(of: log.requests.last)
        #expect(given.scheme == chosen)
        #expect(given["nonce"] == nonce)
    }

    @Test(
        "A realm without a credential is passed over for a weaker scheme, but not over clear text",
        arguments: [
            ("https", true), ("http", false),
        ])
    func otherRealm(scheme: String, isAnswered: Bool) async throws {
        try store.set(ada, for: "\(scheme)://h", realm: "b")
        let session = session { _ in
            .response(401, headers: ["WWW-Authenticate": "Digest realm=a, nonce=1, Basic realm=b"])
        }
        _ = await session.request("\(scheme)://h/").serializingData().response
        #expect(log.requests.last?["Authorization"] == (isAnswered ? basic : nil))
    }

    @Test("An answer names the algorithm only where the challenge does", arguments: ["", ", algorithm=MD5"])
    func algorithm(option: String) async throws {
        let session = session(DigestServer(options: #"qop="auth""# + option))
        let request = await session.request("http://h/").authenticate(with: ada)
        #expect(try await request.serializingString().value == "in")
        #expect(parameters(of: log.requests.last)["algorithm"] == (option.isEmpty ? nil : "MD5"))
    }

    // MARK: A request's own credential

    @Test(
        "A challenge is answered, and its 401 reaches neither validators nor serializers",
        arguments: [
            #"qop="auth", algorithm=SHA-256"#, #"qop="auth, auth-int""#, "algorithm=MD5",
            "algorithm=MD5-sess, qop=auth",
            "algorithm=SHA-512-256-sess, qop=\"auth\"",
        ])
    func answered(options: String) async throws {
        let session = session(DigestServer(options: options, others: "Basic realm=r"))
        let request = await session.request("http://h/a?b=c").authenticate(with: ada).validate()
        #expect(try await request.serializingString().value == "in")
        #expect(request.attempts.map { $0.hops.map { $0.head?.status } } == [[401, 200]])
    }

    @Test("A redirect within the origin gets an answer of its own, one to another origin gets none")
    func redirected() async throws {
        let server = DigestServer()
        let session = session { request in
            let answer = server.answer(request)
            guard case .head(let head) = answer.steps.first, head.status == 200 else { return answer }
            switch request.url.path {
            case "/a": return .redirect(to: "/b?c")
            case "/b": return .redirect(to: "http://other/c")
            default: return answer
            }
        }
        let request = await session.request("http://h/a").authenticate(with: ada)
        #expect(await request.serializingData().response.head?.status == 401)
        #expect(sent == ["none", "1", "2", "none"])
        #expect(log.requests.map { parameters(of: $0)["uri"] } == [nil, "/a", "/b?c", nil])
    }

    @Test("A preemptive Basic that is refused with an offer of Digest is answered by Digest")
    func afterBasic() async throws {
        let session = session(DigestServer(others: "Basic realm=r"))
        let request = await session.request("https://h/").authenticate(with: ada, preemptively: true)
        #expect(try await request.serializingString().value == "in")
        #expect(sent == ["Basic", "1"])
    }

    @Test(
        "A wrong password is sent once, and a nonce that is always stale is answered twice",
        arguments: [
            ("wrong", Int.max, ["none", "1"]), ("s3cret", 0, ["none", "1", "1"]),
        ])
    func refused(password: String, lives: Int, expected: [String]) async throws {
        let session = session(DigestServer(lives: lives))
        let request = await session.request("http://h/").authenticate(username: "ada", password: password)
        let response = await request.serializingString().response
        #expect(response.value == "who?" && response.head?.status == 401)
        #expect(sent == expected)
    }

    @Test("Each attempt begins with the challenge")
    func retried() async throws {
        let server = DigestServer()
        let session = log.session(.validating) { request, number in
            number == 2 ? .text("", status: 503) : server.answer(request)
        }
        let request = await session.request("http://h/").authenticate(with: ada)
            .retry(using: .retrier { _, _, error in error.statusCode == 503 ? .retry : .doNotRetry })
        #expect(try await request.serializingString().value == "in")
        #expect(sent == ["none", "1", "none", "1"])
    }

    @Test("Where the server wants the body protected, a body in memory is; of others the 401 is the answer")
    func protectedBodies() async throws {
        let text = String(repeating: "text of a body\n", count: 1_000)
        let server = DigestServer(options: "qop=\"auth-int\", algorithm=SHA-256")
        let session = session { server.answer($0, body: text) }
        let folder = try TemporaryFolder()
        let file = try TransportBody.file(folder.write(text.utf8))
        for (body, status) in [(TransportBody.data(Data(text.utf8)), 200), (file, 401)] {
            let request = await session.upload(body, to: "http://h/").authenticate(with: ada)
            #expect(await request.serializingData().response.head?.status == status)
        }
        #expect(sent == ["none", "1", "none"])
    }

    // MARK: The session's credentials

    @Test("Where a credential was accepted, requests bring it unasked, each with the next number of the nonce")
    func reused() async throws {
        try store.set(ada, for: "http://h")
        let session = session(DigestServer(others: "Basic realm=r"))
        for path in ["/a", "/b?c", "/d/e"] {
            #expect(try await session.request("http://h" + path).serializingString().value == "in")
        }
        #expect(sent == ["none", "1", "2", "3"])
        #expect(parameters(of: log.requests.last)["uri"] == "/d/e")
    }

    @Test("A nonce that the server no longer accepts is replaced by its next one", arguments: [true, false])
    func replaced(saysStale: Bool) async throws {
        try store.set(ada, for: "http://h")
        let session = session(DigestServer(lives: 2, saysStale: saysStale))
        for _ in 1...4 { #expect(try await session.request("http://h/").serializingString().value == "in") }
        #expect(sent == ["none", "1", "2", "3", "1", "2"])
    }

    @Test("A redirect within the origin takes the next number, and another origin gets nothing")
    func redirectedStore() async throws {
        try store.set(ada, for: "http://h")
        let server = DigestServer()
        let session = session { request in
            let answer = server.answer(request)
            guard case .head(let head) = answer.steps.first, head.status == 200, request.url.path == "/a" else {
                return answer
            }
            return .redirect(to: "/b")
        }
        #expect(try await session.request("http://h/a").serializingString().value == "in")
        #expect(await session.request("https://h/a").serializingData().response.head?.status == 401)
        #expect(sent == ["none", "1", "2", "none"])
    }

    @Test("A password that was changed at the server is sent once more and no more unasked")
    func changed() async throws {
        try store.set(ada, for: "http://h")
        let servers = Protected([DigestServer()])
        let session = session { request in servers.withLock { $0[0] }.answer(request) }
        #expect(try await session.request("http://h/").serializingString().value == "in")
        try store.set(Credential(username: "ada", password: "old"), for: "http://h")
        for _ in 1...2 { #expect(await session.request("http://h/").serializingData().response.head?.status == 401) }
        #expect(sent == ["none", "1", "none", "1", "none", "1"])
    }

    @Test("Parallel requests share a nonce and never a number")
    func parallel() async throws {
        try store.set(ada, for: "http://h")
        let session = session { request in
            request["Authorization"] == nil
                ? .response(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
                : .text("in")
        }
        #expect(try await session.request("http://h/").serializingString().value == "in")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask { _ = try await session.request("http://h/").serializingString().value }
            }
            try await group.waitForAll()
        }
        let numbers = log.requests.compactMap { parameters(of: $0)["nc"] }
        #expect(numbers.count == 101)
        #expect(Set(numbers).count == 101)
    }

    @Test("Neither the name nor the password nor the answer shows in descriptions")
    func secrets() async throws {
        let session = session(DigestServer())
        let request = await session.request("http://h/").authenticate(with: ada)
        let response = await request.serializingString().response
        var shown = "\(request) \(response.debugDescription) \(request.cURLDescription())"
        dump(request.attempts.map { $0.hops.map(\.request.options) }, to: &shown)
        let answer = try #require(parameters(of: log.requests.last)["response"])
        for secret in ["ada", "s3cret", answer] { #expect(!shown.contains(secret), "\(secret)") }
    }
}
