/// An access token of the Bearer scheme (RFC 6750), and what it is renewed with. It can be encoded, to be kept somewhere safe.
public struct BearerToken: AuthenticationCredential, Codable, Hashable {
    /// What is sent; never empty in a token that can be used.
    public var accessToken: String
    /// What the next one is had for, if the server gave that.
    public var refreshToken: String?
    /// From when on it is to be renewed before it is used; best some time before the server stops taking it.
    public var renewalDate: Date?
    /// What it allows, in the server's words.
    public var scope: String?

    /// A token as a server has issued it.
    public init(_ accessToken: String, refreshToken: String? = nil, renewalDate: Date? = nil, scope: String? = nil) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.renewalDate = renewalDate
        self.scope = scope
    }

    /// Stands for the token that the first request is going to get.
    public static let unissued = BearerToken("", renewalDate: .distantPast)

    public var requiresRefresh: Bool { isDue(at: Date()) }

    func isDue(at date: Date) -> Bool { renewalDate.map { $0 <= date } ?? false }
}

extension BearerToken: CustomStringConvertible, CustomReflectable {
    /// Without the tokens: it may end up in a log.
    public var description: String {
        "a bearer token" + (renewalDate.map { ", to be renewed \($0)" } ?? "")
    }

    /// Keeps `dump` from showing the tokens.
    public var customMirror: Mirror { Mirror(self, children: ["renewalDate": renewalDate as Any]) }
}

/// Sends a bearer token, and renews it in your way, or by OAuth 2.
public struct BearerAuthenticator: Authenticator {
    /// Gets a new token in place of the old one, by the session if it needs one.
    public typealias Renewal = @Sendable (BearerToken, Session) async throws -> BearerToken

    private let scope: CredentialScope
    private let clock: WallClock
    private let renew: Renewal

    /// - Parameter renew: Gets a new token in place of the old one. What it asks for by the session it is given passes the
    ///   interceptor untouched.
    public init(for scope: CredentialScope = .anywhere, clock: WallClock = .system, renew: @escaping Renewal) {
        self.scope = scope
        self.clock = clock
        self.renew = renew
    }

    public func authenticates(_ request: OutgoingRequest) throws -> Bool { try scope.contains(request.url) }

    public func requiresRefresh(_ credential: BearerToken) -> Bool { credential.isDue(at: clock.now) }

    public func apply(_ credential: BearerToken, to request: inout OutgoingRequest) {
        request.headers.update(.authorization(bearerToken: credential.accessToken))
    }

    public func refresh(_ credential: BearerToken, for session: Session) async throws -> BearerToken {
        try await renew(credential, session)
    }
}

/// Bearer tokens of one user or client, for `.authentication(tokens)`.
public typealias BearerTokens = AuthenticationInterceptor<BearerAuthenticator>

extension AuthenticationInterceptor where A == BearerAuthenticator {
    /// Tokens that are renewed in your way.
    ///
    ///     let tokens = BearerTokens(saved, for: "https://api.example.com") { old, session in
    ///         try await session.send(.newToken(for: old.refreshToken))
    ///     }
    public convenience init(
        _ token: BearerToken?, for scope: CredentialScope = .anywhere, renew: @escaping BearerAuthenticator.Renewal
    ) {
        self.init(BearerAuthenticator(for: scope, renew: renew), credential: token)
    }

    /// Tokens of a user, renewed by their refresh tokens (RFC 6749, section 6).
    public convenience init(
        _ token: BearerToken?, for scope: CredentialScope = .anywhere, renewedBy client: OAuth2Client
    ) {
        self.init(
            BearerAuthenticator(for: scope, clock: client.clock) { try await client.renew($0, using: $1) },
            credential: token)
    }

    /// Tokens of the client itself (RFC 6749, section 4.4); the first one is had for the first request.
    public convenience init(clientCredentials client: OAuth2Client, for scope: CredentialScope = .anywhere) {
        self.init(
            BearerAuthenticator(for: scope, clock: client.clock) {
                try await client.token(.clientCredentials, using: $1)
            }, credential: .unissued)
    }
}
