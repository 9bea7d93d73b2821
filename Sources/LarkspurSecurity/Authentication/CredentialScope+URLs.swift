// The origin of a credential as a variable: a `String`, a `URL` or any other ``URLConvertible``.

extension CredentialScope: ExpressibleByStringInterpolation {
    /// Returns the origin of this URL; its path is ignored. An invalid URL makes every request fail.
    public static func origin(_ url: any URLConvertible) -> CredentialScope { .origins([url]) }
}

extension AuthenticationInterceptor where A == BearerAuthenticator {
    /// Creates an interceptor for the origin of a URL, whose token is refreshed by the closure.
    ///
    ///     let tokens = BearerTokens(BearerToken(text), for: base) { old, session in … }
    public convenience init(
        _ token: BearerToken?, for url: some URLConvertible, renew: @escaping BearerAuthenticator.Renewal
    ) {
        self.init(token, for: .origin(url), renew: renew)
    }

    /// Creates an interceptor for the origin of a URL. The client refreshes the token by its refresh token (RFC 6749,
    /// section 6).
    public convenience init(_ token: BearerToken?, for url: some URLConvertible, renewedBy client: OAuth2Client) {
        self.init(token, for: .origin(url), renewedBy: client)
    }

    /// Creates an interceptor for the origin of a URL, and for a token that the client gets with its own credentials
    /// (RFC 6749, section 4.4).
    public convenience init(clientCredentials client: OAuth2Client, for url: some URLConvertible) {
        self.init(clientCredentials: client, for: .origin(url))
    }
}

extension BearerAuthenticator {
    /// Creates an authenticator for the origin of a URL.
    public init(for url: some URLConvertible, clock: WallClock = .system, renew: @escaping Renewal) {
        self.init(for: .origin(url), clock: clock, renew: renew)
    }
}

extension APIKeyAuthentication {
    /// Creates an adapter that sends the key to the origin of a URL.
    public init(_ key: String, in place: Place = .header("X-API-Key"), for url: some URLConvertible) {
        self.init(key, in: place, for: .origin(url))
    }
}

extension RequestAdapter where Self == APIKeyAuthentication {
    /// Returns an adapter that sends a key with every request to the origin of a URL.
    public static func apiKey(
        _ key: String, in place: APIKeyAuthentication.Place = .header("X-API-Key"), for url: some URLConvertible
    ) -> Self {
        APIKeyAuthentication(key, in: place, for: .origin(url))
    }
}

extension DigestAuthentication {
    /// Creates an interceptor that authenticates a user at the origin of a URL.
    public convenience init(
        username: String, password: String, for url: some URLConvertible, protectsBodies: Bool = false
    ) {
        self.init(username: username, password: password, for: .origin(url), protectsBodies: protectsBodies)
    }
}

extension RequestInterceptor where Self == DigestAuthentication {
    /// Returns an interceptor that authenticates a user at the origin of a URL by the Digest scheme.
    public static func digest(username: String, password: String, for url: some URLConvertible) -> Self {
        DigestAuthentication(username: username, password: password, for: .origin(url))
    }
}
