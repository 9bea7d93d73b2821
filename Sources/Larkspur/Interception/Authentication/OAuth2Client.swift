/// A client of an OAuth 2 server: gets tokens (RFC 6749).
///
///     let client = OAuth2Client(tokenURL: "https://id.example.com/token", clientID: "shop", clientSecret: secret)
///     let tokens = BearerTokens(clientCredentials: client, for: "https://api.example.com")
public struct OAuth2Client: Sendable {
    /// How a client with a secret shows it.
    public enum SecretPlace: Sendable {
        /// By the Basic scheme, which every server has to take.
        case basic
        /// In the form.
        case body
    }

    /// What a token is had for. More kinds are made by `init`.
    public struct Grant: Sendable {
        @Hidden var parameters: [String: String]

        /// A grant of this `grant_type`, with the parameters that go with it.
        public init(_ type: String, parameters: [String: String] = [:]) {
            self.parameters = parameters.merging(["grant_type": type]) { _, type in type }
        }

        /// The client asks for itself (RFC 6749, section 4.4).
        public static let clientCredentials = Grant("client_credentials")

        /// A token that came with an earlier one (RFC 6749, section 6).
        public static func refreshToken(_ token: String) -> Grant {
            Grant("refresh_token", parameters: ["refresh_token": token])
        }
    }

    let tokenURL: any URLConvertible
    let clientID: String
    @Hidden private var clientSecret: String?
    private let secretPlace: SecretPlace
    private let scope: String?
    private let leeway: Duration
    let clock: WallClock
    private let session: Session?

    /// - Parameters:
    ///   - clientSecret: Nil for a client that cannot keep one, such as an app.
    ///   - scope: What to ask for, in words with spaces between.
    ///   - leeway: How long before its end a token is renewed, at most half its life.
    ///   - session: Where token requests are made; nil takes the session that needs the token.
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

    /// Asks the server for a token. What the server has against it is thrown as an `OAuth2Error`, all else as a
    /// `RequestError`.
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
        // The form holds secrets: it goes to the server that was named, and is not sent on.
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
            throw error.failure(as: OAuth2Error.self) ?? error
        }
    }

    /// A new token for the old one's refresh token, which stays if the server gives no other.
    public func renew(_ token: BearerToken, using session: Session) async throws -> BearerToken {
        guard let refreshToken = token.refreshToken else {
            throw AuthenticationError(
                .notRefreshable, "the server gave no refresh token along with the token that has expired")
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

/// What an OAuth 2 server has against a token request (RFC 6749, section 5.2).
public struct OAuth2Error: Error, Decodable, Hashable, Sendable, CustomStringConvertible {
    /// The server's word for the failure; it may be one of its own.
    public struct Code: RawRepresentable, Decodable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// A parameter is missing, unknown or there twice.
        public static let invalidRequest = Code(rawValue: "invalid_request")
        /// The server does not know the client, or takes its secret for wrong.
        public static let invalidClient = Code(rawValue: "invalid_client")
        /// The refresh token has expired, was used up or revoked: the user has to log in again.
        public static let invalidGrant = Code(rawValue: "invalid_grant")
        /// The client may not have tokens in this way.
        public static let unauthorizedClient = Code(rawValue: "unauthorized_client")
        /// The server does not know this kind of grant.
        public static let unsupportedGrantType = Code(rawValue: "unsupported_grant_type")
        /// The scope is unknown, or more than may be granted.
        public static let invalidScope = Code(rawValue: "invalid_scope")
    }

    /// What kind of failure it is.
    public let code: Code
    /// The server's words for a developer.
    public let details: String?
    /// A page about it.
    public let uri: String?

    private enum CodingKeys: String, CodingKey {
        case code = "error"
        case details = "error_description"
        case uri = "error_uri"
    }

    public var description: String { "the server gives no token: \(code)" + (details.map { ", \($0)" } ?? "") }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
    /// The client's identifier and the token URL, without secrets.
    public var description: String { "OAuth2Client(\(clientID) at \(Redaction.shown(tokenURL)))" }
    /// A mirror without children, because they hold secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
