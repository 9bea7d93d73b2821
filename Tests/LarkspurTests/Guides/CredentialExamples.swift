import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guides to credentials, retries and deadlines, word for word.

@Suite("The guides to credentials and retries", .limited)
struct CredentialExamples {
    private let log = TransportLog()
    private let key = "key", password = "word", secret = "secret", other = "another"

    /// Sends a request of such a session over a stub.
    private func sent(by session: Session, answer: StubAnswer = .text("ok")) async throws -> TransportRequest? {
        let session = Session(
            configuration: session.configuration, transport: log.transport { _, _ in answer })
        _ = await session.request("https://api.example.com/").serializingData().response
        return log.requests.last
    }

    @Test("A key is sent to its origin")
    func fixed() async throws {
        let keyed = Session(
            interceptor: .apiKey(key, for: "https://api.example.com"))
        #expect(try await sent(by: keyed)?["X-API-Key"] == "key")
    }

    @Test("Tokens are added to requests, and retries follow them")
    func tokens() async throws {
        let saved = BearerToken("token")
        func make() -> Session {
            let client = OAuth2Client(
                tokenURL: "https://id.example.com/token", clientID: "shop",
                clientSecret: secret)
            let tokens = BearerTokens(
                saved, for: "https://api.example.com", renewedBy: client)
            let session = Session(
                configuration: SessionConfiguration { $0.validation = [.standard] },
                interceptor: .composed(.authentication(tokens), .retry(limit: 3)))
            return session
        }
        #expect(try await sent(by: make())?["Authorization"] == "Bearer token")
    }

    @Test("A login needs no token, and returns one")
    func login() async throws {
        let saved: BearerToken? = nil
        let client = OAuth2Client(
            tokenURL: "https://id.example.com/token", clientID: "shop",
            clientSecret: secret)
        func make() -> (BearerTokens, Session) {
            let tokens = BearerTokens(
                saved, for: "https://api.example.com", renewedBy: client)
            let session = Session(
                configuration: SessionConfiguration {
                    $0.baseURL = "https://api.example.com"
                    $0.validation = [.standard]
                },
                interceptor: .authentication(tokens))
            return (tokens, session)
        }
        let (tokens, made) = make()
        let session = Session(
            configuration: made.configuration,
            transport: log.transport { request, _ in
                .json(request.url.path == "/login" ? #"{"access_token": "token", "expires_in": 60}"# : "{}")
            })
        func logIn(name: String, password: String) async throws {
            let login = await session.request(
                "login", method: .post,
                parameters: ["name": name, "password": password], encoder: .json
            ) { $0.options.usesCredentials = false }
            let token = login.serializingDecodable(BearerToken.self)
            tokens.credential = try await token.value
        }
        try await logIn(name: "ada", password: password)
        _ = try await session.request("users").serializingData().value
        #expect(log.requests.map { $0["Authorization"] } == [nil, "Bearer token"])
        #expect(tokens.credential?.renewalDate != nil)
    }

    @Test("A code becomes a token, and a refreshed token is saved before its use")
    func grants() async throws {
        let (code, saved) = ("code", BearerToken("old", refreshToken: "first", renewalDate: .distantPast))
        let client = OAuth2Client(tokenURL: "https://id.example.com/token", clientID: "shop")
        let transport = log.transport { request, _ in
            request.url.path == "/token"
                ? .json(#"{"access_token": "new", "token_type": "Bearer", "refresh_token": "second"}"#) : .text("ok")
        }
        let tokens = BearerTokens(nil, for: "https://api.example.com", renewedBy: client)
        let session = Session(configuration: .bare, transport: transport)
        let grant = OAuth2Client.Grant(
            "authorization_code",
            parameters: [
                "code": code,
                "redirect_uri": "https://shop.example.com/callback",
            ])
        tokens.credential = try await client.token(grant, using: session)
        #expect(tokens.credential?.refreshToken == "second")
        #expect(log.requests.last?.text?.contains("grant_type=authorization_code") == true)

        let store = Protected<[String?]>([])
        let save = { @Sendable (token: BearerToken) throws in store.withLock { $0.append(token.refreshToken) } }
        let rotating = BearerTokens(
            saved, for: "https://api.example.com"
        ) { old, session in
            let new = try await client.renew(old, using: session)
            try save(new)
            return new
        }
        let request = await session.request("https://api.example.com/", interceptor: .authentication(rotating))
        _ = try await request.serializingData().value
        #expect(log.requests.last?["Authorization"] == "Bearer new")
        #expect(store.withLock { $0 } == ["second"])
    }

    @Test("A store answers challenges")
    func store() async throws {
        func make() throws -> Session {
            let credentials = CredentialStore()
            try credentials.set(
                Credential(username: "ada", password: password),
                for: "https://api.example.com")
            try credentials.set(
                Credential(username: "root", password: other),
                for: "https://api.example.com", realm: "Admin")
            let session = Session(
                configuration: SessionConfiguration {
                    $0.credentials = credentials
                })
            return session
        }
        let asking = StubAnswer.response(401, headers: ["WWW-Authenticate": #"Basic realm="Admin""#])
        let authorization = try await sent(by: make(), answer: asking)?["Authorization"]
        #expect(authorization == HTTPHeader.authorization(username: "root", password: "another").value)
    }

    @Test("A session has four attempts and half a minute")
    func retries() async throws {
        func make() -> Session {
            let session = Session(
                configuration: SessionConfiguration {
                    $0.validation = [.standard]
                    $0.options.timeouts.total = .seconds(30)
                }, interceptor: .retry(limit: 3))
            return session
        }
        #expect(make().configuration.options.timeouts.total == .seconds(30))
        func shop() -> Session {
            let shop = Session(
                configuration: SessionConfiguration { $0.validation = [.standard] },
                interceptor: .retry(limit: 3, idempotencyKey: .automatic()))
            return shop
        }
        #expect((shop().configuration.interceptors.first as? RetryPolicy)?.idempotencyKey != nil)
        let policy = RetryPolicy(shouldRetry: { error, request in
            error.statusCode == 409 ? .retry : .byRules
        })
        let session = log.session(interceptor: .composed(policy)) { _, number in
            number == 1 ? .response(409) : .text("ok")
        }
        #expect(try await session.request("http://h/").validate().serializingString().value == "ok")
    }

    @Test("A retrier has a reason for its refusal, and a request has its own limits")
    func refusals() async throws {
        let breaker = Interceptor(retry: { _, _, _ in
            return .doNotRetryWithError(RetryRefusal("the circuit is open"))
        })
        let session = log.session(interceptor: breaker) { _, _ in .text("ok") }
        let url = "https://api.example.com/report"
        let report = try await session.request(url)
            .timeout(.connect(.milliseconds(300)), .total(.seconds(5)))
            .serializingData().value
        #expect(report == Data("ok".utf8))
        let response = await session.request(url).validate(statusCode: [204]).serializingData().response
        #expect(response.error?.retryRefusal == "the circuit is open")
    }
}
