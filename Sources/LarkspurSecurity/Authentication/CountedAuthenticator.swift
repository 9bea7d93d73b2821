/// An authenticator for a coordinator, which notes whether the coordinator has refreshed the credential. A credential
/// that another process has refreshed does not count towards the ``RefreshWindow``.
final class CountedAuthenticator<Base: Authenticator>: Authenticator {
    private let base: Base
    private let box = Protected(false)

    init(_ base: Base) { self.base = base }

    var hasRefreshed: Bool { box.withLock { $0 } }

    func authenticates(_ request: OutgoingRequest) throws -> Bool { try base.authenticates(request) }

    func requiresRefresh(_ credential: Base.Credential) -> Bool { base.requiresRefresh(credential) }

    func apply(_ credential: Base.Credential, to request: inout OutgoingRequest) {
        base.apply(credential, to: &request)
    }

    func refresh(_ credential: Base.Credential, for session: Session) async throws -> Base.Credential {
        box.withLock { $0 = true }
        return try await base.refresh(credential, for: session)
    }

    func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool {
        base.didRequest(request, with: head, failDueTo: error)
    }

    func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Base.Credential) -> Bool {
        base.isRequest(request, authenticatedWith: credential)
    }
}
