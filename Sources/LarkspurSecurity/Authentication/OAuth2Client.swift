/// A client that requests tokens from an OAuth 2 server (RFC 6749).
///
///     let client = OAuth2Client(tokenURL: "https://id.example.com/token", clientID: "shop", clientSecret: secret)
///     let tokens = BearerTokens(clientCredentials: client, for: "https://api.example.com")
public struct OAuth2Client: Sendable {
    /// The part of a token request that contains the client's secret.
    public enum SecretPlace: Sendable {
        /// In the `Authorization` field by the Basic scheme, which every server must support.
        case basic
        /// In the request's form, for servers that do not support the Basic scheme.
        case body
    }

    /// The grant for which a token is requested. For a grant type without a member here, use the initializer.
    public struct Grant: Sendable {
        @Redacted var parameters: [String: String]

        /// Creates a grant with a `grant_type` and its parameters.
        public init(_ type: String, parameters: [String: String] = [:]) {
            self.parameters = parameters.merging(["grant_type": type]) { _, type in type }
        }

        /// The client's own credentials (RFC 6749, section 4.4).
        public static let clientCredentials = Grant("client_credentials")

        /// Returns a grant for a refresh token (RFC 6749, section 6).
        public static func refreshToken(_ token: String) -> Grant {
            Grant("refresh_token", parameters: ["refresh_token": token])
        }
    }

    let tokenURL: any URLConvertible
    let clientID: String
    @Redacted private var clientSecret: String?
    private let secretPlace: SecretPlace
    private let scope: String?
    private let leeway: Duration
    /// The clock that determines the expiry of a token.
    public let clock: WallClock
    private let session: Session?

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - tokenURL: The server's token endpoint.
    ///   - clientID: The identifier of the client.
    ///   - clientSecret: The client's secret; nil for a client that cannot keep one, such as an app.
    ///   - secretPlace: How the secret is sent; ``SecretPlace/basic`` by default.
    ///   - scope: The scopes to request, separated by spaces; nil for the server's default.
    ///   - leeway: The time before a token's expiry at which the token is refreshed, at most half of its lifetime; 30
    ///     seconds by default.
    ///   - clock: The clock that determines the expiry of a token.
    ///   - session: The session for token requests; nil uses the session of the request that needs the token.
    public init(
        tokenURL: any URLConvertible, clientID: String, clientSecret: String? = nil,
        in secretPlace: SecretPlace = .basic,
        scope: String? = nil, leeway: Duration = .seconds(30), clock: WallClock = .system, session: Session? = nil
    ) {
        self.tokenURL = tokenURL
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.secretPlace = secretPlace
        self.scope = scope
        self.leeway = leeway
        self.clock = clock
        self.session = session
    }

    /// Requests a token from the server.
    ///
    /// - Throws: ``OAuth2Error`` if the server refuses the request; ``AuthenticationError`` with `.unusableToken` if
    ///   the reply has no bearer token; ``RequestError`` for all other failures.
    public func token(_ grant: Grant, using session: Session) async throws -> BearerToken {
        var form = grant.parameters
        var headers: HTTPHeaders = ["Accept": "application/json"]
        if let scope { form["scope"] = scope }
        if let clientSecret, secretPlace == .basic {
            headers.add(.authorization(username: clientID.percentEncoded, password: clientSecret.percentEncoded))
        } else {
            form["client_id"] = clientID
            form["client_secret"] = clientSecret
        }
        // The form contains secrets. Do not follow redirects, so that no other server gets the form.
        let request = await (self.session ?? session).request(
            tokenURL, method: .post, parameters: form, encoder: .urlEncodedForm, headers: headers
        ) {
            $0.options.redirects = .deliver
            $0.options.usesCredentials = false
        }
        do {
            let reply = request.validate(statusCode: 200..<300)
                .serializingDecodable(TokenReply.self, failure: OAuth2Error.self)
            return try await token(from: reply.value)
        } catch let error as RequestError {
            guard let refusal = error.failure(as: OAuth2Error.self) ?? error.underlying as? OAuth2Error else {
                throw error
            }
            // Servers quote the token that they refuse.
            throw refusal.hiding(
                form.filter { Redaction.standard.hides($0.key) }.map(\.value) + [clientSecret ?? ""])
        }
    }

    /// Requests a new token by the old token's refresh token. If the server issues no new refresh token, the new token
    /// keeps the old refresh token.
    ///
    /// - Throws: ``AuthenticationError`` with `.notRefreshable` if the old token has no refresh token, and the errors
    ///   of ``token(_:using:)``.
    public func renew(_ token: BearerToken, using session: Session) async throws -> BearerToken {
        guard let refreshToken = token.refreshToken else {
            throw AuthenticationError(
                .notRefreshable, "the token has expired, and the server issued no refresh token with it")
        }
        var new = try await self.token(.refreshToken(refreshToken), using: session)
        new.refreshToken = new.refreshToken ?? refreshToken
        new.scope = new.scope ?? token.scope
        return new
    }

    private func token(from reply: TokenReply) throws -> BearerToken {
        guard reply.type != nil, let token = reply.token(at: clock.now, leeway: leeway) else {
            throw AuthenticationError(.unusableToken, reply.refusal)
        }
        return token
    }
}

/// The error that an OAuth 2 server returns for a token request (RFC 6749, section 5.2).
public struct OAuth2Error: Error, Decodable, Hashable, Sendable, CustomStringConvertible {
    /// The server's error code. Servers may define their own.
    public struct Code: RawRepresentable, Decodable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// A parameter is missing, unknown or repeated.
        public static let invalidRequest = Code(rawValue: "invalid_request")
        /// The server does not know the client, or its secret is wrong.
        public static let invalidClient = Code(rawValue: "invalid_client")
        /// The refresh token has expired or was used or revoked. The user must log in again.
        public static let invalidGrant = Code(rawValue: "invalid_grant")
        /// The client is not allowed to use this grant.
        public static let unauthorizedClient = Code(rawValue: "unauthorized_client")
        /// The server does not support this grant.
        public static let unsupportedGrantType = Code(rawValue: "unsupported_grant_type")
        /// The scope is unknown or invalid, or exceeds the scope that the server can grant.
        public static let invalidScope = Code(rawValue: "invalid_scope")
    }

    /// The server's error code.
    public let code: Code
    /// The server's explanation for a developer, without secrets that the server repeats; nil if there is none.
    public let details: String?
    /// The address of a page about the error; nil if there is none.
    public let uri: String?

    private enum CodingKeys: String, CodingKey {
        case code = "error"
        case details = "error_description"
        case uri = "error_uri"
    }

    public var description: String {
        "the server refused the token request: \(code)" + (details.map { ", \($0)" } ?? "")
    }

    private init(code: Code, details: String?, uri: String?) {
        (self.code, self.details, self.uri) = (code, details, uri)
    }

    /// Decodes the error from the JSON of a token endpoint, without secrets that its texts name.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            code: try members.decode(Code.self, forKey: .code),
            details: try members.decodeIfPresent(String.self, forKey: .details).map(Self.shown),
            uri: try members.decodeIfPresent(String.self, forKey: .uri).map(Self.shown))
    }

    /// Returns a text of the server on one line and without secrets that are known by their names or forms.
    private static func shown(_ text: String) -> String {
        let redaction = Redaction.standard
        return redaction.namesSecret(in: text)
            ? Redaction.replacement : redaction.reference(text).printable
    }

    /// Returns the error without these secrets in the server's texts. Texts of fewer than four bytes occur by chance.
    func hiding(_ secrets: [String]) -> OAuth2Error {
        let secrets = secrets.filter { $0.utf8.count >= 4 }
        func shown(_ text: String) -> String {
            secrets.reduce(text) { $0.replacing($1, with: Redaction.replacement) }
        }
        return OAuth2Error(code: code, details: details.map(shown), uri: uri.map(shown))
    }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
    /// A description with the client's identifier and the token URL, without secrets.
    public var description: String { "OAuth2Client(\(clientID) at \(Redaction.shown(tokenURL)))" }
    /// A mirror without children, because the stored properties contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
