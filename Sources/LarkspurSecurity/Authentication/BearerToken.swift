/// An access token of the Bearer scheme (RFC 6750), with its refresh token.
///
/// The type decodes the reply of a token or login endpoint (RFC 6749, section 5.1: `access_token`, `token_type`,
/// `expires_in`, `refresh_token`, `scope`). `renewalDate` is then 30 seconds before the token expires. If the token's
/// lifetime is less than a minute, `renewalDate` is the middle of the lifetime. To store a token in a safe place,
/// encode it. The type also decodes this encoded form.
public struct BearerToken: AuthenticationCredential, Codable, Hashable {
    /// The text of the token that is sent to the server. It is empty in ``unissued``.
    public var accessToken: String
    /// The refresh token, if the server issued one.
    public var refreshToken: String?
    /// The time from which the interceptor refreshes the token before using it; nil if the token needs no refresh.
    /// Choose a time somewhat before the token expires.
    public var renewalDate: Date?
    /// The scope that the server granted, as the server wrote it; nil if the server named no scope.
    public var scope: String?

    /// Creates a token from its parts.
    public init(_ accessToken: String, refreshToken: String? = nil, renewalDate: Date? = nil, scope: String? = nil) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.renewalDate = renewalDate
        self.scope = scope
    }

    /// A placeholder for a token that was not requested yet. The first request that uses the placeholder requests a
    /// token.
    public static let unissued = BearerToken("", renewalDate: .distantPast)

    private enum CodingKeys: String, CodingKey {
        case accessToken, refreshToken, renewalDate, scope
        // Keys of a token endpoint's reply. The key decoding strategy `convertFromSnakeCase` produces the last two.
        case expires_in, access_token, expiresIn, tokenType
    }

    /// Decodes the reply of a token endpoint, or an encoded token.
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
    /// A description without the tokens, because logs may contain descriptions.
    public var description: String {
        "a bearer token" + (renewalDate.map { ", to be renewed \($0)" } ?? "")
    }

    /// A mirror without the tokens, for `dump`.
    public var customMirror: Mirror { Mirror(self, children: ["renewalDate": renewalDate as Any]) }
}

/// An authenticator that sends a bearer token. A closure refreshes the token.
public struct BearerAuthenticator: Authenticator {
    /// A closure that returns a new token in place of the given token. The closure also gets the session of the request
    /// that started the refresh.
    public typealias Renewal = @Sendable (BearerToken, Session) async throws -> BearerToken

    private let scope: CredentialScope
    private let clock: WallClock
    private let renew: Renewal

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - scope: The origins that get the token; all by default.
    ///   - clock: The clock that is compared with ``BearerToken/renewalDate``.
    ///   - renew: Returns a new token. The interceptor does not intercept the requests that the closure makes.
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

    public func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool {
        head.status == 401
    }

    public func isRequest(_ request: OutgoingRequest, authenticatedWith credential: BearerToken) -> Bool {
        request.headers["Authorization"] == HTTPHeader.authorization(bearerToken: credential.accessToken).value
    }
}

/// An interceptor for the bearer tokens of one user or client. Pass it to `.authentication(_:)`.
public typealias BearerTokens = AuthenticationInterceptor<BearerAuthenticator>

extension AuthenticationInterceptor where A == BearerAuthenticator {
    /// Creates an interceptor whose token is refreshed by the closure.
    ///
    ///     let tokens = BearerTokens(saved, for: "https://api.example.com") { old, session in
    ///         try await session.send(.newToken(for: old.refreshToken))
    ///     }
    public convenience init(
        _ token: BearerToken?, for scope: CredentialScope = .anywhere, renew: @escaping BearerAuthenticator.Renewal
    ) {
        self.init(BearerAuthenticator(for: scope, renew: renew), credential: token)
    }

    /// Creates an interceptor for a user's token. The client refreshes the token by its refresh token (RFC 6749,
    /// section 6).
    public convenience init(
        _ token: BearerToken?, for scope: CredentialScope = .anywhere, renewedBy client: OAuth2Client
    ) {
        self.init(
            BearerAuthenticator(for: scope, clock: client.clock) { try await client.renew($0, using: $1) },
            credential: token)
    }

    /// Creates an interceptor for a token that the client gets with its own credentials (RFC 6749, section 4.4). The
    /// first request that uses the interceptor requests the first token.
    public convenience init(clientCredentials client: OAuth2Client, for scope: CredentialScope = .anywhere) {
        self.init(
            BearerAuthenticator(for: scope, clock: client.clock) {
                try await client.token(.clientCredentials, using: $1)
            }, credential: .unissued)
    }
}
