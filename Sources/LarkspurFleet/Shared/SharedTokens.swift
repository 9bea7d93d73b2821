import Larkspur

/// The token of one user or client that several processes share. One process refreshes it, and the others wait for the
/// result.
///
///     let shared = SharedTokens(store, name: "shop", sealedBy: key)
///     let tokens = BearerTokens(shared: shared, for: "https://api.example.com", renewedBy: client)
///     try await shared.save(login)  // once, in any process
///
/// The store keeps the token, sealed by the key. A process that needs another token reads the store first: if another
/// process has refreshed the token meanwhile, it uses the new one. Otherwise it takes a lease, notes in the store that
/// a refresh begins, refreshes the token and stores the new one. A refresh in flight goes on if all requests that wait
/// for it are cancelled, because only its result is valid afterwards.
///
/// A token without a refresh token is requested again after each fault: its request can be repeated.
///
/// If the process ends or loses its connection in the middle of a refresh, no process can know whether the server has
/// seen the old refresh token. Servers that accept each refresh token once often end the session if it comes again. So
/// all requests that need another token fail with `.refreshOutcomeUnknown`, until a process saves a new token, or until
/// a process that was only stopped goes on and stores its result. Choose ``UnknownOutcome/reuseOnce`` if the server
/// accepts a refresh token again for some time.
///
/// | fault | result |
/// |---|---|
/// | the server refuses the refresh | all requests that wait for it, in all processes, fail; the next one tries again |
/// | the process is killed before the refresh begins | another process refreshes after the lease has ended |
/// | the process is killed during the refresh | `.refreshOutcomeUnknown` after the lease has ended |
/// | the process is stopped, and another one refreshes meanwhile | the late result is refused; the new token is used |
/// | the store has lost the token | `.refreshOutcomeUnknown` |
/// | the store cannot be reached | requests that need another token fail with `.refreshFailed` and the `StoreError` |
/// | the key is another one | the same, with a ``SealingError`` |
public final class SharedTokens: RefreshCoordinator {
    /// The behaviour of a process if the outcome of the last refresh is not known.
    public enum UnknownOutcome: Sendable {
        /// Fails with `.refreshOutcomeUnknown`.
        case fail
        /// Sends the old refresh token once more. If the outcome of that is not known either, fails.
        case reuseOnce
    }

    let store: any SharedStore
    let name: String
    let lease: Duration
    let timeout: Duration
    let unknownOutcome: UnknownOutcome
    let clock: any Clock<Duration>
    private let keys: [SealingKey]

    /// Creates a token that is shared by all processes with the same store and name.
    ///
    /// - Parameters:
    ///   - name: The name of the token's value and lease in the store. The names of different users differ.
    ///   - key: The key that seals the token.
    ///   - older: Further keys that can open a stored token, while a key is replaced.
    ///   - lease: The time after which other processes no longer wait for a process that was killed or stopped; 15
    ///     seconds by default. A process that works renews its lease.
    ///   - timeout: The maximum duration of a refresh; one minute by default. Then the refresh is cancelled, and its
    ///     outcome is not known.
    ///   - unknownOutcome: The behaviour if the outcome of the last refresh is not known; `.fail` by default.
    ///   - clock: The clock that measures the lease and the timeout in this process.
    public init(
        _ store: any SharedStore, name: String, sealedBy key: SealingKey, or older: [SealingKey] = [],
        lease: Duration = .seconds(15), timeout: Duration = .seconds(60),
        ifOutcomeUnknown unknownOutcome: UnknownOutcome = .fail, clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.store, self.name, self.lease, self.timeout) = (store, name, lease, timeout)
        (self.unknownOutcome, self.clock, keys) = (unknownOutcome, clock, [key] + older)
    }

    // MARK: The stored token

    /// Returns the stored token; nil if none was saved, or if it was removed.
    public func token() async throws -> BearerToken? {
        let token = try await read()?.record.token
        return token == .unissued ? nil : token  // a first refresh has begun, or has failed
    }

    /// Saves a token, for example after a login. Requests of all processes use it, at the latest when the token that
    /// they have is due or refused. It replaces the result of a refresh in flight.
    public func save(_ token: BearerToken) async throws {
        try await store.set(seal(TokenRecord(token: token)), for: name)
    }

    /// Removes the token, for example at a logout. Requests of all processes fail with `.missingCredential`, at the
    /// latest when the token that they have is due or refused.
    public func remove() async throws { try await store.set(seal(TokenRecord(token: nil)), for: name) }

    func read() async throws -> (record: TokenRecord, version: StoreVersion)? {
        guard let value = try await store.value(for: name) else { return nil }
        let bytes = try SealingKey.open(value.data, for: name, by: keys)
        guard let record = try? JSONDecoder().decode(TokenRecord.self, from: bytes) else {
            throw SealingError(.damaged, "the stored value \(name) is not a token, or is of a later version")
        }
        return (record, value.version)
    }

    /// Stores a record under the lease, if the stored one is still that of the version. Returns nil if it is not, or
    /// if a later holder of the lease has written.
    func write(_ record: TokenRecord, over version: StoreVersion?, under lease: StoreLease) async throws
        -> StoreVersion?
    {
        let condition = version.map { StoreCondition.isVersion($0) } ?? .isAbsent
        let sealed = try seal(record)
        do {
            return try await store.set(sealed, for: name, if: condition, lifetime: nil, under: lease)
        } catch {
            if error.code == .staleLease { return nil }
            throw error
        }
    }

    private func seal(_ record: TokenRecord) throws -> Data {
        try keys[0].seal(JSONEncoder().encode(record), for: name)
    }

    // MARK: RefreshCoordinator

    public func refresh(
        _ old: BearerToken, with authenticator: any Authenticator<BearerToken>, for session: Session
    ) async throws -> BearerToken {
        let refresh = SharedRefresh(tokens: self, old: old, authenticator: authenticator, session: session)
        return try await refresh.result()
    }
}

/// The content of the stored value, before it is sealed.
struct TokenRecord: Codable, Sendable {
    /// A refresh that has begun.
    struct Intent: Codable, Sendable, Hashable {
        /// The fencing number of the lease under which the refresh began.
        var number: UInt64
        /// Whether the refresh token was used before, by a refresh with an unknown outcome.
        var isReuse: Bool
        /// Whether the process has given the refresh up without knowing its outcome.
        var isAbandoned = false

        /// The state after the store has lost its record: another process may have used the refresh token meanwhile.
        static let afterLoss = Intent(number: 0, isReuse: false, isAbandoned: true)
    }

    /// The error of the last refresh.
    struct Failure: Codable, Sendable {
        var number: UInt64
        var code: String
        var message: String
    }

    /// Nil after the token was removed.
    var token: BearerToken?
    var intent: Intent?
    var failure: Failure?
}

extension SharedTokens: CustomStringConvertible, CustomReflectable {
    /// A description without the token and the key.
    public var description: String { "SharedTokens(\(name))" }
    /// A mirror without children, because the store may contain the token.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension AuthenticationError.Code {
    /// A process has begun a refresh of a shared token, and it is not known whether the server has seen the refresh
    /// token. See ``SharedTokens``.
    public static let refreshOutcomeUnknown = AuthenticationError.Code(rawValue: "refreshOutcomeUnknown")
}

extension AuthenticationInterceptor where A == BearerAuthenticator {
    /// Creates an interceptor for a token that several processes share. The closure refreshes the token; one process
    /// calls it at a time. It sends its request with the session that it gets. If it uses another client, it throws a
    /// `CancellationError` if the server may have seen the refresh token without an answer; after other errors of its
    /// own, the refresh token is sent again.
    ///
    /// The first request reads the token from the store. Requests fail with `.missingCredential` if there is none.
    public convenience init(
        shared: SharedTokens, for scope: CredentialScope = .anywhere, clock: WallClock = .system,
        renew: @escaping BearerAuthenticator.Renewal
    ) {
        let authenticator = BearerAuthenticator(for: scope, clock: clock) { old, session in
            guard old != .unissued else { throw AuthenticationError.missingCredential }
            return try await renew(old, session)
        }
        self.init(authenticator, credential: .unissued, coordinator: shared)
    }

    /// Creates an interceptor for a user's token that several processes share. The client refreshes the token by its
    /// refresh token (RFC 6749, section 6).
    ///
    /// The first request reads the token from the store. Requests fail with `.missingCredential` if there is none.
    public convenience init(
        shared: SharedTokens, for scope: CredentialScope = .anywhere, renewedBy client: OAuth2Client
    ) {
        self.init(shared: shared, for: scope, clock: client.clock) { try await client.renew($0, using: $1) }
    }

    /// Creates an interceptor for a token that several processes share, and that one of them gets with the client's own
    /// credentials (RFC 6749, section 4.4) when it is needed.
    public convenience init(
        shared: SharedTokens, clientCredentials client: OAuth2Client, for scope: CredentialScope = .anywhere
    ) {
        let authenticator = BearerAuthenticator(for: scope, clock: client.clock) {
            try await client.token(.clientCredentials, using: $1)
        }
        self.init(authenticator, credential: .unissued, coordinator: shared)
    }
}
