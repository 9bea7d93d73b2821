/// A token, key or password that authenticates a client.
public protocol AuthenticationCredential: Sendable {
    /// Whether the credential must be refreshed before its next use, because it has expired or soon will.
    var requiresRefresh: Bool { get }
}

extension AuthenticationCredential {
    public var requiresRefresh: Bool { false }
}

/// A type that adds one kind of credential to requests and refreshes it. An ``AuthenticationInterceptor`` decides when.
///
///     struct KeyAuthenticator: Authenticator {
///         func apply(_ credential: Key, to request: inout OutgoingRequest) {
///             request.headers.update(.authorization("Key \(credential.text)"))
///         }
///
///         func refresh(_ credential: Key, for session: Session) async throws -> Key {
///             try await session.request("https://api.example.com/key").validate().serializingDecodable(Key.self).value
///         }
///
///         func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool {
///             head.status == 401
///         }
///
///         func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Key) -> Bool {
///             request.headers["Authorization"] == "Key \(credential.text)"
///         }
///     }
public protocol Authenticator<Credential>: Sendable {
    /// The credential that the authenticator adds to requests.
    associatedtype Credential: AuthenticationCredential

    /// Returns whether the credential is added to the request; true by default.
    ///
    /// Return false for a server that must not see the credential. The request is then sent without it.
    func authenticates(_ request: OutgoingRequest) throws -> Bool

    /// Returns whether the credential must be refreshed before its use; by default the credential's own
    /// `requiresRefresh`.
    func requiresRefresh(_ credential: Credential) -> Bool

    /// Adds the credential to the request.
    func apply(_ credential: Credential, to request: inout OutgoingRequest)

    /// Returns a new credential that replaces the old one.
    ///
    /// The interceptor does not intercept requests that this method makes, directly or in `Task { … }`, even on the
    /// interceptor's own session. The method's task is cancelled when no request waits for the refresh any more, or
    /// when the refresh takes too long. If the method throws, the waiting requests fail with that error, and the
    /// refresh is not retried.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Returns whether a request failed because the server refused its credential. For most servers this is the status
    /// 401.
    func didRequest(_ request: OutgoingRequest, with head: ResponseHead, failDueTo error: RequestError) -> Bool

    /// Returns whether the request was sent with this credential. The request has the field that ``apply(_:to:)`` has
    /// set for the credential at that time.
    ///
    /// A refused request that was sent with an older credential is retried at once, without a refresh.
    func isRequest(_ request: OutgoingRequest, authenticatedWith credential: Credential) -> Bool
}

extension Authenticator {
    public func authenticates(_ request: OutgoingRequest) throws -> Bool { true }

    public func requiresRefresh(_ credential: Credential) -> Bool { credential.requiresRefresh }

    // `didRequest` and `isRequest` have no defaults. With defaults, a rule with another signature, such as that of
    // another library, would compile and never be called.
}

/// A type that coordinates the refreshes of a credential that several processes share. An
/// ``AuthenticationInterceptor`` calls it in place of ``Authenticator/refresh(_:for:)``, once for all waiting requests.
public protocol RefreshCoordinator<Credential>: Sendable {
    /// The credential that the processes share.
    associatedtype Credential: AuthenticationCredential

    /// Returns the credential that replaces the old one: the result of another process's refresh, or of a refresh by
    /// the authenticator.
    ///
    /// The method waits while another process refreshes the credential. Its task is cancelled as that of
    /// ``Authenticator/refresh(_:for:)``. If the method throws, the waiting requests fail with that error.
    func refresh(
        _ old: Credential, with authenticator: any Authenticator<Credential>, for session: Session
    ) async throws -> Credential
}

/// The maximum number of refreshes in a period.
///
/// A burst of refreshes means that something is wrong: the server refuses each new credential, or a wrong clock makes
/// each new credential look expired.
public struct RefreshWindow: Sendable, Hashable {
    /// The period in which refreshes are counted; 30 seconds by default.
    public var interval: Duration
    /// The maximum number of refreshes in the period; 5 by default.
    public var maximumAttempts: Int

    /// Creates a window: by default five refreshes in 30 seconds.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}

/// Whether a credential is kept after its refresh failed.
public enum FailedRefreshPolicy: Sendable {
    /// Keeps the credential. The next request refreshes the credential if it is due, and otherwise uses it unchanged.
    case keep
    /// Removes the credential after any failure. Requests fail with `.missingCredential` until the user sets another
    /// credential.
    case clear
}

/// The reason why a request could not be authenticated; see ``RequestError/authenticationError``.
public struct AuthenticationError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. More codes may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The interceptor has no credential: none was set, or it was removed.
        public static let missingCredential = Code(rawValue: "missingCredential")
        /// The limit of the ``RefreshWindow`` is reached.
        public static let excessiveRefresh = Code(rawValue: "excessiveRefresh")
        /// The authenticator threw an error; see ``AuthenticationError/underlying``.
        public static let refreshFailed = Code(rawValue: "refreshFailed")
        /// The authenticator did not return within the interceptor's `refreshTimeout`.
        public static let refreshTimedOut = Code(rawValue: "refreshTimedOut")
        /// The credential cannot be refreshed, for example because it has no refresh token.
        public static let notRefreshable = Code(rawValue: "notRefreshable")
        /// The server's reply to a token request has no usable token.
        public static let unusableToken = Code(rawValue: "unusableToken")
    }

    /// The kind of failure.
    public let code: Code
    /// The error that the authenticator threw; nil if the failure has another cause.
    public let underlying: (any Error)?
    private let message: String

    /// Creates an error for an authenticator of your own, with a message in one line.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    public var description: String { message }

    /// The error with the code `missingCredential`.
    public static let missingCredential = AuthenticationError(
        .missingCredential,
        "there is no credential; set one on the interceptor, or options.usesCredentials = false for a request that needs none"
    )
    /// The error with the code `excessiveRefresh`.
    public static let excessiveRefresh = AuthenticationError(
        .excessiveRefresh,
        "the credential was refreshed too often in a short time; does the server refuse each new one?")
    /// The error with the code `refreshTimedOut`.
    public static let refreshTimedOut = AuthenticationError(
        .refreshTimedOut, "refreshing the credential took longer than the interceptor's refreshTimeout")
}

extension RequestError {
    /// The reason why the request could not be authenticated, before it was sent or after the server refused it; nil if
    /// the request failed for another reason.
    public var authenticationError: AuthenticationError? {
        let retryError = (underlying as? RetryFailed)?.retryError
        return retryError as? AuthenticationError ?? underlying as? AuthenticationError
    }
}
