import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Tokens, passwords and keys", .limited)
struct TokenTests {
    private let log = TransportLog()
    private let now = Protected(Date(timeIntervalSince1970: 1_000_000))

    private func client(
        secret: String? = "s", in place: OAuth2Client.SecretPlace = .basic, scope: String? = nil
    ) -> OAuth2Client {
        OAuth2Client(
            tokenURL: "http://id/token", clientID: "shop", clientSecret: secret, in: place, scope: scope,
            clock: WallClock { [now] in now.withLock { $0 } })
    }

    /// A session whose token server answers with this JSON, and whose API takes the tokens t1, t2, …
    private func session(
        _ interceptor: (any RequestInterceptor)? = nil, reply: @escaping @Sendable (Int) -> StubAnswer
    ) -> Session {
        let replies = Counter()
        return log.session(.validating, interceptor: interceptor) { request, _ in
            request.url.host == "id" ? reply(replies.increment()) : .text("ok")
        }
    }

    private func sent() -> [String] { log.requests.map { "\($0.url.host ?? "") \($0["Authorization"] ?? "-")" } }

    // MARK: OAuth 2

    @Test("The client's own tokens are had when they are needed, and again shortly before their end")
    func clientCredentials() async throws {
        let tokens = BearerTokens(clientCredentials: client(scope: "read write"), for: "http://h")
        let session = session(.composed(.authentication(tokens))) {
            .json(#"{"access_token": "t\#($0)", "token_type": "Bearer", "expires_in": 3600}"#)
        }
        for passed in [0.0, 3_569, 1] {
            now.withLock { $0 += passed }
            #expect(try await session.request("http://h/").serializingString().value == "ok")
        }
        #expect(sent() == ["id Basic c2hvcDpz", "h Bearer t1", "h Bearer t1", "id Basic c2hvcDpz", "h Bearer t2"])
        let form = try #require(log.requests.first)
        #expect(form.method == "POST")
        #expect(form.text == "grant_type=client_credentials&scope=read%20write")
        #expect(form["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") == true)
        #expect(form["Accept"] == "application/json")
    }

    @Test("A user's token is renewed by its refresh token, which stays unless the server gives another one")
    func refreshToken() async throws {
        let tokens = BearerTokens(
            BearerToken("t0", refreshToken: "r0", renewalDate: .distantPast, scope: "read"), renewedBy: client())
        let session = session(.authentication(tokens)) { number in
            number == 1
                ? .json(#"{"access_token": "t1", "token_type": "bearer", "expires_in": 10}"#)
                : .json(#"{"access_token": "t2", "token_type": "bearer", "refresh_token": "r2", "scope": "all"}"#)
        }
        _ = try await session.request("http://h/").serializingString().value
        #expect(tokens.credential?.refreshToken == "r0")
        #expect(tokens.credential?.scope == "read")
        // A short life is renewed when half of it is over.
        #expect(tokens.credential?.renewalDate == now.withLock { $0 + 5 })
        now.withLock { $0 += 5 }
        _ = try await session.request("http://h/").serializingString().value
        #expect(tokens.credential == BearerToken("t2", refreshToken: "r2", scope: "all"))
        #expect(log.requests[0].text == "grant_type=refresh_token&refresh_token=r0")
        #expect(sent().map { $0.prefix(4) } == ["id B", "h Be", "id B", "h Be"])
    }

    @Test("The client names itself by Basic with escaped parts, or in the form, a public one by its name alone")
    func clientAuthentication() async throws {
        let session = session { _ in .json(#"{"access_token": "t", "token_type": "Bearer"}"#) }
        let odd = OAuth2Client(tokenURL: "http://id/token", clientID: "a:b", clientSecret: "ü &")
        for client in [odd, client(in: .body), client(secret: nil)] {
            let token = try await client.token(.clientCredentials, using: session)
            #expect(token == BearerToken("t"))
        }
        let basic = Data("a%3Ab:%C3%BC%20%26".utf8).base64EncodedString()
        #expect(log.requests.map { $0["Authorization"] } == ["Basic \(basic)", nil, nil])
        #expect(
            log.requests.map(\.text) == [
                "grant_type=client_credentials",
                "client_id=shop&client_secret=s&grant_type=client_credentials",
                "client_id=shop&grant_type=client_credentials",
            ])
    }

    @Test(
        "The server's error for a token request is thrown with its code",
        arguments: [
            ("invalid_grant", 400, OAuth2Error.Code.invalidGrant), ("invalid_client", 401, .invalidClient),
            ("invalid_request", 400, .invalidRequest), ("invalid_scope", 400, .invalidScope),
            ("unauthorized_client", 400, .unauthorizedClient), ("unsupported_grant_type", 400, .unsupportedGrantType),
            ("own_code", 400, OAuth2Error.Code(rawValue: "own_code")), ("invalid_grant", 200, .invalidGrant),
        ])
    func serverError(name: String, status: Int, code: OAuth2Error.Code) async throws {
        let tokens = BearerTokens(clientCredentials: client())
        let session = session(.authentication(tokens)) { _ in
            .json(#"{"error": "\#(name)", "error_description": "because", "error_uri": "http://h/e"}"#, status: status)
        }
        let error = await session.request("http://h/").serializingData().response.error?.authenticationError
        let cause = try #require(error?.underlying as? OAuth2Error)
        #expect(cause.code == code)
        #expect(cause.details == "because" && cause.uri == "http://h/e")
        #expect(log.count == 1)
    }

    @Test(
        "The server's text about a refused token request shows no secret",
        arguments: [
            "the refresh token r3fr3sh is unknown", "client shop: s3cr3t-of-shop is wrong", "Bearer r3fr3sh is over",
            "password=r3fr3sh", "see http://h/e?token=r3fr3sh",
        ])
    func serverText(text: String) async throws {
        let client = OAuth2Client(tokenURL: "http://id/token", clientID: "shop", clientSecret: "s3cr3t-of-shop")
        let session = session { _ in
            .json(#"{"error": "invalid_grant", "error_description": "\#(text)"}"#, status: 400)
        }
        let error = await #expect(throws: OAuth2Error.self) {
            try await client.token(.refreshToken("r3fr3sh"), using: session)
        }
        var dumped = ""
        dump(error, to: &dumped)
        for output in [dumped, "\(String(describing: error))", error?.details ?? "none"] {
            #expect(!output.contains("r3fr3sh") && !output.contains("s3cr3t-of-shop"))
        }
        #expect(error?.code == .invalidGrant && error?.details?.contains("REDACTED") == true)
    }

    @Test("The server's text about a refused token request is shown on one line")
    func harmlessServerText() async throws {
        let session = session { _ in
            .json(#"{"error": "invalid_grant", "error_description": "the refresh token\n is over"}"#, status: 400)
        }
        let error = await #expect(throws: OAuth2Error.self) {
            try await client().token(.refreshToken("r3fr3sh"), using: session)
        }
        #expect(error?.description.contains("the refresh token\\n is over") == true)
    }

    @Test(
        "An answer that is no token is an error",
        arguments: [
            StubAnswer.json("{}"), .text("<html>", contentType: "text/html"), .json(#"{"access_token": 7}"#),
            .text("gone", status: 502), .failure(.connectionLost), .redirect(307, to: "http://evil/"),
            .json(#"{"access_token": "t", "token_type": "mac"}"#),
            .json(#"{"access_token": "", "token_type": "bearer"}"#),
        ])
    func unusable(answer: StubAnswer) async throws {
        let session = session { _ in answer }
        await #expect(throws: (any Error).self) { try await client().token(.clientCredentials, using: session) }
        #expect(log.count == 1)
    }

    @Test(
        "A life that makes no sense is none, and a number written as a text is one",
        arguments: [
            ("\"60\"", 30.0), ("60.5", 30.5), ("0", 0), ("-5", nil), ("1e300", nil), ("\"soon\"", nil), ("null", nil),
        ])
    func lifetimes(text: String, seconds: Double?) async throws {
        let session = session { _ in .json(#"{"access_token": "t", "token_type": "bearer", "expires_in": \#(text)}"#) }
        let token = try await client().token(.clientCredentials, using: session)
        #expect(token.renewalDate == seconds.map { seconds in now.withLock { $0 + seconds } })
    }

    @Test("A token without a refresh token cannot be renewed, and says so")
    func notRefreshable() async throws {
        let tokens = BearerTokens(BearerToken("t", renewalDate: .distantPast), renewedBy: client())
        let error = await session(.authentication(tokens)) { _ in .json("{}") }
            .request("http://h/").serializingData().response.error
        #expect(error?.authenticationError?.code == .notRefreshable)
        #expect(log.count == 0)
    }

    @Test("A token shows nothing of itself, and comes back from where it was kept")
    func printing() throws {
        let token = BearerToken("secret-1", refreshToken: "secret-2", renewalDate: Date(timeIntervalSince1970: 0))
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] { #expect(!text.contains("secret")) }
        #expect(try JSONDecoder().decode(BearerToken.self, from: JSONEncoder().encode(token)) == token)
    }

    // MARK: Where credentials go

    /// Each kind, for one origin.
    enum Kind: CaseIterable, Sendable {
        case bearer, headerKey, queryKey, digest

        func interceptor(for scope: CredentialScope) -> any RequestInterceptor {
            switch self {
            case .bearer: BearerTokens(BearerToken("t"), for: scope) { token, _ in token }
            case .headerKey: APIKeyAuthentication("k", for: scope)
            case .queryKey: APIKeyAuthentication("k", in: .query("api_key"), for: scope)
            case .digest: DigestAuthentication(username: "u", password: "p", for: scope)
            }
        }
    }

    private func carriesCredential(_ request: TransportRequest) -> Bool {
        request["Authorization"] != nil || request["X-API-Key"] != nil || request.url.query != nil
    }

    private func challenging(_ kind: Kind, _ scope: CredentialScope) -> Session {
        log.session(.validating, interceptor: kind.interceptor(for: scope)) { request, _ in
            request["Authorization"] == nil && kind == .digest
                ? .response(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
                : .text("ok")
        }
    }

    @Test("A credential goes to its own origin", arguments: Kind.allCases)
    func ownOrigin(kind: Kind) async throws {
        let session = challenging(kind, "http://h/path/does/not/matter")
        #expect(await session.request("http://h:80/x").serializingString().response.value == "ok")
        #expect(log.requests.last.map(carriesCredential) == true)
    }

    @Test(
        "A credential goes nowhere else: not to another host, port or scheme", arguments: Kind.allCases,
        ["http://other/", "http://h:81/", "https://h/", "http://h.evil/"])
    func otherOrigin(kind: Kind, url: String) async throws {
        _ = await challenging(kind, "http://h").request(url).serializingString().response
        #expect(log.requests.map(carriesCredential) == [false])
    }

    @Test("A credential does not follow a redirect to another origin", arguments: Kind.allCases)
    func redirected(kind: Kind) async throws {
        let session = log.session(.validating, interceptor: kind.interceptor(for: .anywhere)) { request, _ in
            request.url.host == "h" ? .redirect(to: "http://other/") : .text("ok")
        }
        #expect(await session.request("http://h/").serializingString().response.value == "ok")
        #expect(log.requests.last?.url.host == "other")
        #expect(log.requests.last.map(carriesCredential) == false)
    }

    @Test("A scope that is no origin fails every request, with an error that says so", arguments: Kind.allCases)
    func badScope(kind: Kind) async throws {
        let error = await challenging(kind, "not a url").request("http://h/").serializingData().response.error
        #expect(error?.code == .invalidURL)
        #expect(log.count == 0)
    }

    @Test("A confidential field is hidden where requests are described, whatever its name, and follows no redirect")
    func confidential() async throws {
        let session = log.session(
            SessionConfiguration {
                $0.headers = [:]; $0.options.confidentialHeaders = ["X-Foo"]
            },
            interceptor: .apiKey("hidden", in: .header("X-Bar"))
        ) { request, _ in request.url.host == "h" ? .redirect(to: "http://other/") : .text("ok") }
        let request = await session.request("http://h/", headers: ["X-Foo": "hidden", "X-Other": "shown"])
        let description = await request.serializingString().response.debugDescription
        let first = try #require(request.attempts.first?.request)
        for text in [description, first.cURLDescription()] { #expect(!text.contains("hidden")) }
        #expect(first.cURLDescription(redacting: .none).contains("X-Bar: hidden"))
        #expect(
            log.requests.map { HTTPHeaders($0.fields).map(\.name).filter { $0.hasPrefix("X-") } } == [
                ["X-Foo", "X-Other", "X-Bar"], ["X-Other"],
            ])
    }

    // MARK: Keys

    @Test(
        "A key goes into a field or the query, escaped; what a request says itself stands",
        arguments: [
            (APIKeyAuthentication.Place.header("X-Key"), "http://h/", "/ k&1"),
            (.query("key"), "http://h/", "/?key=k%261 -"), (.query("key"), "http://h/?a=b#f", "/?a=b&key=k%261 -"),
            (.query("key"), "http://h/?key=mine", "/?key=mine -"), (.query("key"), "http://h/?", "/?key=k%261 -"),
        ])
    func apiKey(place: APIKeyAuthentication.Place, url: String, expected: String) async throws {
        let session = log.session(interceptor: .apiKey("k&1", in: place))
        let request = await session.request(url)
        _ = await request.serializingData().response
        #expect(log.requests.map { "\($0.url.target) \($0["X-Key"] ?? "-")" } == [expected])
        #expect(request.request?.url.fragment == (try RequestURL(url).fragment))
    }
}
