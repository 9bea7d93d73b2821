import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurSecurity

/// The simplest credential.
struct Key: AuthenticationCredential, Equatable {
    var text: String
    var isDue = false

    var requiresRefresh: Bool { isDue }

    static let old = Key(text: "old", isDue: true)
    /// Looks good, and is refused.
    static let revoked = Key(text: "revoked")
    static let new = Key(text: "new")
}

struct KeyAuthenticator: Authenticator {
    var host: String?
    var renew: @Sendable (Key, Session) async throws -> Key

    func authenticates(_ request: OutgoingRequest) -> Bool {
        host.map { request.url.host == $0[...] } ?? true
    }

    func apply(_ credential: Key, to request: inout OutgoingRequest) {
        request.headers.update(.authorization("Key \(credential.text)"))
    }

    func refresh(_ credential: Key, for session: Session) async throws -> Key {
        try await renew(credential, session)
    }

    func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool {
        head.status == 401
    }

    func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Key) -> Bool {
        request.headers["Authorization"] == "Key \(credential.text)"
    }
}

typealias Keys = AuthenticationInterceptor<KeyAuthenticator>

extension AuthenticationInterceptor where A == KeyAuthenticator {
    /// Waits until so many requests wait for a refresh.
    func waitUntilWaiting(_ count: Int) async {
        await poll { self.waiting == count }
    }
}

extension StubAnswer {
    /// As a server that takes the new key alone.
    static func guarding(_ request: TransportRequest, key: String = "new") -> StubAnswer {
        request["Authorization"] == "Key \(key)" ? .text("ok") : .text("who are you?", status: 401)
    }
}

extension SessionConfiguration {
    /// Bare, and with refusals for errors.
    static let validating = SessionConfiguration {
        $0.headers = [:]
        $0.validation = [.standard]
    }
}
