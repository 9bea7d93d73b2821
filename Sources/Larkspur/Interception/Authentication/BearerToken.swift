/// An access token of the Bearer scheme (RFC 6750), with its refresh token.
///
/// It decodes the answer of a token or login endpoint (RFC 6749, section 5.1: `access_token`, `token_type`, `expires_in`,
/// `refresh_token`, `scope`). `renewalDate` is then 30 seconds before the token expires, or half its lifetime if that is less.
/// Encode it to keep it somewhere safe; it decodes its own encoding as well.
public struct BearerToken: AuthenticationCredential, Codable, Hashable {
    /// What is sent; never empty in a token that can be used.
    public var accessToken: String
    /// The refresh token, if the server issued one.
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

    private enum CodingKeys: String, CodingKey {
        case accessToken, refreshToken, renewalDate, scope
        // Of a token endpoint only, the last as `convertFromSnakeCase` gives it.
        case expires_in, access_token, expiresIn, tokenType
    }

    /// Decodes the answer of a token endpoint, or an encoded token.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let ofEndpoint: [CodingKeys] = [.access_token, .expires_in, .expiresIn, .tokenType]
        guard ofEndpoint.contains(where: values.contains) else {
            accessToken = try values.decode(String.self, forKey: .accessToken)
            refreshToken = try values.decodeIfPresent(String.self, forKey: .refreshToken)
            renewalDate = try values.decodeIfPresent(Date.self, forKey: .renewalDate)
            scope = try values.decodeIfPresent(String.self, forKey: .scope)
            return
        }
        let reply = try TokenReply(from: decoder)
        guard let token = reply.token(at: Date(), leeway: .seconds(30)) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: reply.refusal))
        }
        self = token
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(accessToken, forKey: .accessToken)
        try values.encodeIfPresent(refreshToken, forKey: .refreshToken)
        try values.encodeIfPresent(renewalDate, forKey: .renewalDate)
        try values.encodeIfPresent(scope, forKey: .scope)
    }

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
