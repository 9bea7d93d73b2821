import Larkspur
import LarkspurTesting
import TestSupport
import Testing

/// An authenticator for a server that refuses tokens with 403, and takes them in a field of its own.
private struct TokenAuthenticator: Authenticator {
    let refreshes: Counter

    func apply(_ credential: Key, to request: inout OutgoingRequest) {
        request.headers.update(name: "X-Token", value: credential.text)
    }

    func refresh(_ credential: Key, for session: Session) async throws -> Key {
        refreshes.increment()
        return .new
    }

    func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool {
        head.status == 403 && head.headers["X-Reason"] == "token"
    }

    func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Key) -> Bool {
        request.headers["X-Token"] == credential.text
    }
}

@Suite("An authenticator's own rules about refusals", .limited)
struct OwnRefusalTests {
    private let log = TransportLog()
    private let refreshes = Counter()

    private func session(
        _ interceptor: AuthenticationInterceptor<TokenAuthenticator>, refusing status: Int,
        reason: String = "token"
    ) -> Session {
        log.session(.validating, interceptor: .authentication(interceptor)) { request, _ in
            request["X-Token"] == "new"
                ? .text("ok") : StubAnswer.response(status, headers: ["X-Reason": reason])
        }
    }

    private func tokens(_ key: Key) -> AuthenticationInterceptor<TokenAuthenticator> {
        AuthenticationInterceptor(TokenAuthenticator(refreshes: refreshes), credential: key)
    }

    @Test("A 403 that the rule names refreshes the credential; another 403 and a 401 do not")
    func forbidden() async throws {
        #expect(
            try await session(tokens(.revoked), refusing: 403).request("http://h/").serializingString().value == "ok")
        #expect(refreshes.value == 1 && log.requests.map { $0["X-Token"] } == ["revoked", "new"])
        let other = await session(tokens(.revoked), refusing: 403, reason: "role").request("http://h/")
        #expect(await other.serializingString().response.error?.statusCode == 403)
        let unauthorized = await session(tokens(.revoked), refusing: 401).request("http://h/")
        #expect(await unauthorized.serializingString().response.error?.statusCode == 401)
        #expect(refreshes.value == 1)
    }

    @Test("A refused request that the rule says was sent with an older credential is retried without a refresh")
    func older() async throws {
        let tokens = tokens(.revoked)
        let session = log.session(.validating, interceptor: .authentication(tokens)) { request, number in
            // Another request has refreshed the credential meanwhile.
            if number == 1 { tokens.credential = .new }
            return request["X-Token"] == "new" ? .text("ok") : .response(403, headers: ["X-Reason": "token"])
        }
        #expect(try await session.request("http://h/").serializingString().value == "ok")
        #expect(refreshes.value == 0 && log.count == 2)
    }
}
