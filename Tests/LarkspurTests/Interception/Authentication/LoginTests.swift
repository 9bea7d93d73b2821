import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Logging in", .limited)
struct LoginTests {
    private let log = TransportLog()

    /// A session with these tokens, whose server gives a token for the right password.
    private func session(_ tokens: BearerTokens) -> Session {
        let configuration = SessionConfiguration {
            $0.validation = [.standard]
            $0.headers = [:]
        }
        return log.session(configuration, interceptor: .authentication(tokens)) { request, _ in
            guard request.url.path == "/login" || request.url.path == "/token" else { return .text("ok") }
            return request.text?.contains("right") == true
                ? .json(#"{"access_token": "t1", "token_type": "Bearer", "expires_in": 3600}"#)
                : .text("wrong password", status: 401)
        }
    }

    private func login(_ session: Session, password: String) async -> DataResponse<BearerToken> {
        await session.request("http://h/login", method: .post, parameters: ["password": password]) {
            $0.options.usesCredentials = false
        }.serializingDecodable(BearerToken.self).response
    }

    @Test("Without a token requests fail before they are sent, a login is sent, and its token goes with later requests")
    func first() async throws {
        let tokens = BearerTokens(nil, for: "http://h") { _, _ in throw ForeignError() }
        let session = session(tokens)
        let error = await session.request("http://h/").serializingData().response.error
        #expect(error?.authenticationError?.code == .missingCredential)
        #expect(log.count == 0)
        tokens.credential = try await login(session, password: "right").result.get()
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        #expect(log.requests.map { $0["Authorization"] } == [nil, "Bearer t1"])
    }

    @Test(
        "A login does not wait for a refresh, and fails with the server's refusal", arguments: [nil, Date.distantPast])
    func again(renewalDate: Date?) async throws {
        let refreshes = Counter()
        let old = BearerToken("old", refreshToken: "r", renewalDate: renewalDate)
        let tokens = BearerTokens(old, for: "http://h") { _, _ in
            refreshes.increment()
            throw ForeignError()
        }
        let session = session(tokens)
        #expect(await login(session, password: "wrong").error?.statusCode == 401)
        #expect(await login(session, password: "right").value?.accessToken == "t1")
        #expect(log.requests.map { $0["Authorization"] } == [nil, nil])
        #expect(refreshes.value == 0)
    }

    @Test("An OAuth 2 client and an endpoint log in as well")
    func otherWays() async throws {
        let tokens = BearerTokens(nil) { _, _ in throw ForeignError() }
        let session = session(tokens)
        let client = OAuth2Client(tokenURL: "http://h/token", clientID: "shop")
        let grant = OAuth2Client.Grant("password", parameters: ["username": "ada", "password": "right"])
        #expect(try await client.token(grant, using: session).accessToken == "t1")
        var endpoint = Endpoint<BearerToken>(.post, "http://h/login", body: .form(["password": "right"]))
        await #expect(throws: RequestError.self) { try await session.send(endpoint) }
        endpoint.options.usesCredentials = false
        #expect(try await session.send(endpoint).accessToken == "t1")
        #expect(log.count == 2)
    }

    @Test("An endpoint's options come before the session's")
    func endpointOptions() async throws {
        let session = log.session(
            SessionConfiguration {
                $0.headers = [:]
                $0.options.maximumBodySize = 10
                $0.options.redirects = .deliver
            }
        ) { _, _ in .redirect(to: "/there") }
        var endpoint = Endpoint<Data>(.get, "http://h/")
        endpoint.options.maximumBodySize = 20
        let request = await session.request(endpoint)
        _ = await request.serializingData().response
        #expect(request.request?.options.maximumBodySize == 20)
        #expect(log.count == 1, "the session's options hold where the endpoint says nothing")
    }

    // MARK: Decoding tokens

    static let answers = [
        #"{"access_token": "a", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r", "scope": "s"}"#,
        #"{"access_token": "a", "expires_in": "3600", "refresh_token": "r", "scope": "s", "user": {"id": 7}}"#,
    ]

    @Test(
        "A token decodes the field names of RFC 6749, whatever the decoder does with them", arguments: answers,
        [false, true])
    func decoding(text: String, convertsKeys: Bool) throws {
        let decoder = JSONDecoder()
        if convertsKeys { decoder.keyDecodingStrategy = .convertFromSnakeCase }
        let before = Date()
        let token = try decoder.decode(BearerToken.self, from: Data(text.utf8))
        #expect(token.accessToken == "a" && token.refreshToken == "r" && token.scope == "s")
        let renewal = try #require(token.renewalDate)
        #expect(renewal >= before + 3_570 && renewal <= Date() + 3_570)
        let stored = try JSONDecoder().decode(BearerToken.self, from: JSONEncoder().encode(token))
        #expect(stored == token)
    }

    @Test("A short life is renewed at its half, and none has no date")
    func lifetimes() throws {
        let before = Date()
        let short = try JSONDecoder().decode(
            BearerToken.self, from: Data(#"{"access_token": "a", "expires_in": 10}"#.utf8))
        let renewal = try #require(short.renewalDate)
        #expect(renewal >= before + 5 && renewal <= Date() + 5)
        let endless = try JSONDecoder().decode(BearerToken.self, from: Data(#"{"access_token": "a"}"#.utf8))
        #expect(endless.renewalDate == nil)
    }

    @Test(
        "An answer without a bearer token does not decode",
        arguments: [
            "{}", #"{"access_token": ""}"#, #"{"access_token": 7}"#, #"{"error": "invalid_grant"}"#,
            #"{"access_token": "a", "token_type": "mac"}"#,
        ])
    func unusable(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(BearerToken.self, from: Data(text.utf8))
        }
    }
}
