import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@Suite("The origin of a credential as a variable", .limited)
struct CredentialURLTests {
    private let log = TransportLog()

    /// Each way to name the origin of a variable.
    enum Way: CaseIterable, Sendable {
        case bearer, client, clientCredentials, headerKey, queryKey, apiKey, digest, digestShort

        func interceptor(_ base: some URLConvertible) -> any RequestInterceptor {
            let client = OAuth2Client(tokenURL: "http://id/token", clientID: "c", clientSecret: "s")
            return switch self {
            case .bearer: BearerTokens(BearerToken("t"), for: base) { token, _ in token }
            case .client: BearerTokens(BearerToken("t"), for: base, renewedBy: client)
            case .clientCredentials:
                AuthenticationInterceptor(
                    BearerAuthenticator(for: base) { old, _ in old }, credential: BearerToken("t"))
            case .headerKey: APIKeyAuthentication("k", for: base)
            case .queryKey: APIKeyAuthentication("k", in: .query("api_key"), for: base)
            case .apiKey: Interceptor(adapters: [.apiKey("k", for: base)])
            case .digest: DigestAuthentication(username: "u", password: "p", for: base)
            case .digestShort: Interceptor(interceptors: [.digest(username: "u", password: "p", for: base)])
            }
        }
    }

    private func isSent(_ interceptor: any RequestInterceptor, to url: String) async -> Bool {
        let session = log.session(
            SessionConfiguration {
                $0.headers = [:]
                $0.validation = [.standard]
            }, interceptor: interceptor
        ) { request, _ in
            request["Authorization"] == nil && request["X-API-Key"] == nil && request.url.query == nil
                ? .response(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
                : .text("ok")
        }
        return await session.request(url).serializingString().response.value == "ok"
    }

    @Test("A String, an interpolation and a URL name the origin", arguments: Way.allCases)
    func variables(way: Way) async throws {
        let (base, host) = ("http://h/v1", "h")
        let url = try #require(URL(string: base))
        for interceptor in [way.interceptor(base), way.interceptor("http://\(host)"), way.interceptor(url)] {
            #expect(await isSent(interceptor, to: "http://h/x"))
            #expect(await isSent(interceptor, to: "http://other/x") == false)
        }
    }

    @Test("A client's own credentials take a variable too, and a scope takes interpolations and lists of variables")
    func scopes() async throws {
        let (base, other) = ("http://h", "http://i")
        let client = OAuth2Client(tokenURL: "http://id/token", clientID: "c", clientSecret: "s")
        let tokens = BearerTokens(clientCredentials: client, for: base)
        #expect(try tokens.authenticator.authenticates(OutgoingRequest(url: RequestURL("http://h/a"))))
        #expect(try !tokens.authenticator.authenticates(OutgoingRequest(url: RequestURL("http://i/a"))))
        let scopes: [CredentialScope] = ["\(base)/v1", .origin(base), [base, other]]
        for scope in scopes { #expect(try scope.contains(RequestURL("http://h/x"))) }
        #expect(try scopes.map { try $0.contains(RequestURL("http://i/x")) } == [false, false, true])
    }

    @Test("A variable that is not a URL makes every request fail, with the reason")
    func invalid() async {
        let base = "no url"
        let session = log.session(interceptor: .apiKey("k", for: base))
        let error = await session.request("http://h/").serializingData().response.error
        #expect(error?.code == .invalidURL && error?.stage == .adapting && log.count == 0)
    }
}
