/// An interceptor that retries requests that can be sent twice safely, after failures that are usually temporary.
///
///     let session = Session(interceptor: .retry(limit: 3))
///
/// A request is retried if it had fewer than `limit` retries, its method is among `methods`, and its error has one of
/// the `codes` or is a validation failure with one of the `statuses`. **A status causes a retry only if a validator
/// rejects it**, by `validate()` or the session's `validation`. Without validation, a 503 is a successful response.
///
/// POST and PATCH are not retried by default: when a connection is lost, the client cannot know whether the server has
/// already acted, and a second request could repeat the effect, such as an order. If the server supports a key that
/// identifies repeated requests, set `idempotencyKey`; if repeating is harmless, add the method to `methods`.
///
/// Before each retry the policy waits for `backoff`, or as long as the response's `Retry-After` says. A request is not
/// retried in four cases:
///
/// - The response's `Retry-After` is longer than `maximumRetryAfter`.
/// - The delay is longer than the time until the total timeout (``RequestTimeouts/total``).
/// - The session's retry budget is used up.
/// - The request's body can be sent only once.
///
/// In the first three cases, the error's ``RequestError/retryRefusal`` is the reason.
///
/// Set the policy as an interceptor, or add it to a request by `retry(using:)`. As the retrier of another
/// ``Interceptor``, the policy adds no idempotency keys and deposits nothing in the retry budget.
public struct RetryPolicy: KeySettingRetrier {
    /// A closure that decides whether a request is retried; see ``shouldRetry``.
    public typealias Decide = @Sendable (RequestError, any Request) async -> Decision

    /// The decision of ``shouldRetry``.
    public enum Decision: Sendable, Hashable, CaseIterable {
        /// Retries the request.
        case retry
        /// Does not retry the request.
        case doNotRetry
        /// Leaves the decision to the policy's methods, statuses and codes.
        case byRules
    }

    /// The maximum number of retries; 2 by default. Retries after a 401 count only if `statuses` contains 401.
    /// Otherwise a retry with a renewed token would use up the limit.
    public var limit: Int
    /// The methods of requests that are retried; ``idempotentMethods`` by default.
    public var methods: Set<HTTPMethod>
    /// The statuses that are retried, if a validator rejects them; ``passingStatuses`` by default.
    public var statuses: Set<Int>
    /// The codes of errors that are retried; ``connectivityCodes`` by default.
    public var codes: Set<RequestError.Code>
    /// The delays between attempts if the response has no `Retry-After`.
    public var backoff: Backoff
    /// The longest `Retry-After` to wait for; 60 seconds by default. If a server asks for a longer delay, the request
    /// fails.
    public var maximumRetryAfter: Duration
    /// The header field that makes POST and PATCH safe to retry; nil by default. If it is set, the policy retries these
    /// methods, too.
    public var idempotencyKey: IdempotencyKey?
    /// A closure that decides in place of `methods`, `statuses` and `codes`, or leaves the decision to these three by
    /// ``Decision/byRules``. The limit, the timeouts and the retry budget still apply, and a body that can be sent only
    /// once is never sent twice.
    public var shouldRetry: Decide?

    /// Creates a policy. See the properties for the defaults.
    public init(
        limit: Int = 2, methods: Set<HTTPMethod> = Self.idempotentMethods, statuses: Set<Int> = Self.passingStatuses,
        codes: Set<RequestError.Code> = Self.connectivityCodes, backoff: Backoff = Backoff(),
        maximumRetryAfter: Duration = .seconds(60), idempotencyKey: IdempotencyKey? = nil, shouldRetry: Decide? = nil
    ) {
        self.limit = limit
        self.methods = methods
        self.statuses = statuses
        self.codes = codes
        self.backoff = backoff
        self.maximumRetryAfter = maximumRetryAfter
        self.idempotencyKey = idempotencyKey
        self.shouldRetry = shouldRetry
    }

    /// The methods whose effect is the same if a request is sent twice (RFC 9110, section 9.2.2, and `QUERY`).
    public static let idempotentMethods: Set<HTTPMethod> = [.get, .head, .options, .put, .delete, .trace, .query]
    /// The statuses of temporary failures: request timeout, too early, too many requests, and errors of servers and
    /// gateways.
    public static let passingStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    /// The codes of network failures, for which ``RequestError/isConnectivity`` is true.
    public static let connectivityCodes = RequestError.connectivityCodes

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        state.core.depositForRetries()
        guard let field = idempotencyKey?.field, setsKey(in: request) else { return }
        request.headers.add(name: field, value: state.core.idempotencyKey)
    }

    func setsKey(in request: OutgoingRequest) -> Bool {
        guard let field = idempotencyKey?.field else { return false }
        return IdempotencyKey.methods.contains(request.method) && request.headers[field] == nil
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        let core = request.handle.core
        // Retries after a 401 are the task of an authenticator. They do not count, unless the policy's statuses contain
        // 401.
        let refused = statuses.contains(401) ? 0 : request.attempts.dropLast().count { $0.error?.statusCode == 401 }
        let retries = request.retryCount - refused  // the list of attempts is limited
        guard retries < limit, await accepts(error, of: request) else { return .doNotRetry }
        // The pipeline itself rejects the retry of a body that cannot be sent again. Do not withdraw from the budget
        // for it.
        guard core.canSendAgain else { return .retry }
        switch schedule.step(retry: retries, after: error.responseHead) {
        case .stop: return .doNotRetry
        case .refuse(let refusal): return .doNotRetryWithError(refusal)
        case .retry(let delays):
            let delay = session.configuration.random.duration(in: delays)
            if let refusal = core.refusal(of: delay) ?? session.context.withdrawRetry() {
                return .doNotRetryWithError(refusal)
            }
            return .retryAfter(delay)
        }
    }

    private var schedule: RetrySchedule {
        RetrySchedule(limit: limit, backoff: backoff, maximumRetryAfter: maximumRetryAfter)
    }

    private func accepts(_ error: RequestError, of request: any Request) async -> Bool {
        switch await shouldRetry?(error, request) {
        case .retry: return true
        case .doNotRetry: return false
        case .byRules, nil: break
        }
        guard codes.contains(error.code) || error.isValidation && statuses.contains(error.statusCode ?? 0) else {
            return false
        }
        // Check the attempt's first request, because a redirect may have changed the method. If no request was built,
        // none was sent, so a retry cannot repeat an effect.
        guard let sent = request.handle.core.read({ $0.attempt?.request }) else { return true }
        return allows(sent)
    }

    /// Returns whether the request can be sent twice safely: because of its method, or because it has an idempotency
    /// key.
    package func allows(_ request: OutgoingRequest) -> Bool {
        if methods.contains(request.method) { return true }
        guard let idempotencyKey, IdempotencyKey.methods.contains(request.method) else { return false }
        return request.headers[idempotencyKey.field] != nil
    }
}

/// An interceptor that retries a request only if the connection was lost while the request was in flight.
///
/// In all other respects this type works like a ``RetryPolicy``.
public struct ConnectionLostRetryPolicy: KeySettingRetrier {
    /// The policy that decides, with the codes `connectionLost` and `truncated` and no statuses.
    public var policy: RetryPolicy

    /// Creates a policy that retries only lost connections. See ``RetryPolicy`` for the parameters.
    public init(
        limit: Int = 2, methods: Set<HTTPMethod> = RetryPolicy.idempotentMethods,
        backoff: RetryPolicy.Backoff = RetryPolicy.Backoff(), idempotencyKey: RetryPolicy.IdempotencyKey? = nil,
        shouldRetry: RetryPolicy.Decide? = nil
    ) {
        policy = RetryPolicy(
            limit: limit, methods: methods, statuses: [], codes: [.connectionLost, .truncated], backoff: backoff,
            idempotencyKey: idempotencyKey, shouldRetry: shouldRetry)
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        try await policy.adapt(&request, using: state)
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        await policy.retry(request, for: session, dueTo: error)
    }
}

extension RequestInterceptor where Self == RetryPolicy {
    /// Returns a policy that retries after temporary failures, twice by default; see ``RetryPolicy``.
    ///
    /// - Parameter idempotencyKey: The header field that makes POST and PATCH safe to retry, such as `.automatic()`.
    ///   With nil, the default, these methods are not retried.
    public static func retry(
        limit: Int = 2, backoff: RetryPolicy.Backoff = RetryPolicy.Backoff(),
        idempotencyKey: RetryPolicy.IdempotencyKey? = nil
    ) -> Self {
        RetryPolicy(limit: limit, backoff: backoff, idempotencyKey: idempotencyKey)
    }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// Returns a policy that retries after a lost connection, twice by default; see ``ConnectionLostRetryPolicy``.
    public static func retryingLostConnections(limit: Int = 2) -> Self { ConnectionLostRetryPolicy(limit: limit) }
}
