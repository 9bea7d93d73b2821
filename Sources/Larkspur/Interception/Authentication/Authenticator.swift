/// What proves to a server who asks: a token, a key, a password.
public protocol AuthenticationCredential: Sendable {
    /// Whether it has to be renewed before it is used again: because it has expired, or will while a request is under way.
    var requiresRefresh: Bool { get }
}

extension AuthenticationCredential {
    public var requiresRefresh: Bool { false }
}

/// Knows how a kind of credential is used and renewed; an `AuthenticationInterceptor` knows when.
///
///     struct KeyAuthenticator: Authenticator {
///         func apply(_ credential: Key, to request: inout OutgoingRequest) {
///             request.headers.update(.authorization("Key \(credential.text)"))
///         }
///
///         func refresh(_ credential: Key, for session: Session) async throws -> Key {
///             try await session.request("https://api.example.com/key").validate().serializingDecodable(Key.self).value
///         }
///     }
public protocol Authenticator<Credential>: Sendable {
    /// What it puts into requests.
    associatedtype Credential: AuthenticationCredential

    /// Whether the request is for somebody who may see the credential; others pass untouched. By default all are.
    func authenticates(_ request: OutgoingRequest) throws -> Bool

    /// Whether the credential has to be renewed before it is used; what it says of itself by default.
    func requiresRefresh(_ credential: Credential) -> Bool

    /// Puts the credential into the request.
    func apply(_ credential: Credential, to request: inout OutgoingRequest)

    /// Gets a new credential in place of the old one.
    ///
    /// Requests made here, or by tasks begun here, pass the interceptor untouched, also on its own session. When nobody
    /// waits for the refresh any more, or when it takes too long, its task is cancelled.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Whether a request failed because its credential was not good enough; by default with status 401.
    func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool

    /// Whether the request was sent with this credential; by default, whether applying it gives the same `Authorization`.
    func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Credential) -> Bool
}

extension Authenticator {
    public func authenticates(_ request: OutgoingRequest) throws -> Bool { true }

    public func requiresRefresh(_ credential: Credential) -> Bool { credential.requiresRefresh }

    public func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool {
        head.status == 401
    }

    public func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Credential) -> Bool {
        var other = request
        apply(credential, to: &other)
        return other.headers["Authorization"] == request.headers["Authorization"]
    }
}

/// How many refreshes there may be within a time. A burst of them means that something is wrong: each new credential is
/// refused at once, or a clock is far off.
public struct RefreshWindow: Sendable, Hashable {
    /// How far back refreshes count.
    public var interval: Duration
    /// How many refreshes there may be in that time.
    public var maximumAttempts: Int

    /// Five refreshes in half a minute, unless told otherwise.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}

/// What becomes of a credential that could not be renewed.
public enum FailedRefreshPolicy: Sendable {
    /// It stays: the next request tries it, and if need be a refresh, again.
    case keep
    /// It is dropped, whatever the reason: requests fail with `.missingCredential` until another one is set.
    case clear
}

/// Why a request could not be authenticated; a `RequestError` has it as `authenticationError`.
public struct AuthenticationError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; further kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// There is none, or not any more.
        public static let missingCredential = Code(rawValue: "missingCredential")
        /// The refresh window is full.
        public static let excessiveRefresh = Code(rawValue: "excessiveRefresh")
        /// The authenticator threw the underlying error.
        public static let refreshFailed = Code(rawValue: "refreshFailed")
        /// The authenticator has not answered within the interceptor's `refreshTimeout`.
        public static let refreshTimedOut = Code(rawValue: "refreshTimedOut")
        /// The credential has nothing to be renewed with.
        public static let notRefreshable = Code(rawValue: "notRefreshable")
        /// The answer to a token request has no token that can be used.
        public static let unusableToken = Code(rawValue: "unusableToken")
    }

    /// What kind of failure it is.
    public let code: Code
    /// What the authenticator threw, where that is the reason.
    public let underlying: (any Error)?
    private let message: String

    /// An error of your own authenticator, told in one line.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    public var description: String { message }

    /// With the code of that name.
    public static let missingCredential = AuthenticationError(
        .missingCredential,
        "there is no credential; set one on the interceptor, or options.usesCredentials = false for a request that needs none"
    )
    /// With the code of that name.
    public static let excessiveRefresh = AuthenticationError(
        .excessiveRefresh, "the credential was renewed too often in a short time; is each new one refused?")
    /// With the code of that name.
    public static let refreshTimedOut = AuthenticationError(
        .refreshTimedOut, "renewing the credential took longer than the interceptor's refreshTimeout")
}

extension RequestError {
    /// Why the request could not be authenticated, if that is what failed: before it was sent, or after it was refused.
    public var authenticationError: AuthenticationError? {
        let retryError = (underlying as? RetryFailed)?.retryError
        return retryError as? AuthenticationError ?? underlying as? AuthenticationError
    }
}
