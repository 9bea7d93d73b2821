/// Tries a failed request again: what may be sent twice, after a failure that may pass, and not too often.
///
///     let session = Session(interceptor: .retry(limit: 3))
///
/// An attempt follows if there were fewer than `limit` retries, the method is among `methods`, and the failure is an error
/// with one of `codes`, or a validator's with one of `statuses`: **a status counts only where a validator refused it**, by
/// `validate()` or the session's `validation`; without one a 503 is a response like any other.
///
/// Before it, `backoff` is waited for, or as long as the response's `Retry-After` says. No attempt follows that has no time
/// left (`RequestTimeouts.total`), no place in the session's `retryBudget`, or a body that can be sent only once; the error
/// says so then, in `retryRefusal` for the first two.
///
/// It is to be given as an interceptor: as a mere retrier, by `retry(using:)`, it adds no keys and deposits nothing in the
/// budget.
public struct RetryPolicy: RequestInterceptor {
    /// Whether the policy decides about an error, and how; see `shouldRetry`.
    public typealias Predicate = @Sendable (RequestError, any Request) async -> Bool?

    /// How many attempts may follow the first. One that follows a 401 does not count unless that is among `statuses`: a
    /// token that was renewed leaves the limit as it was.
    public var limit: Int
    /// The methods of requests that may be sent twice.
    public var methods: Set<HTTPMethod>
    /// The statuses that may pass, where a validator refuses them.
    public var statuses: Set<Int>
    /// The errors that may pass.
    public var codes: Set<RequestError.Code>
    /// How long is waited where the response does not say it.
    public var backoff: Backoff
    /// The longest `Retry-After` that is waited for; one that is longer means no retry.
    public var maximumRetryAfter: Duration
    /// Has POST and PATCH carry a key by which the server knows a request that it has seen, and so counts them among
    /// `methods`; nil, as by default, does not.
    public var idempotencyKey: IdempotencyKey?
    /// Decides in place of `methods`, `statuses` and `codes`: true for another attempt, false for none, nil to leave it to
    /// them. Limit, time, budget and body hold all the same.
    public var shouldRetry: Predicate?

    /// A policy with everything as it is described, save what is given.
    public init(
        limit: Int = 2, methods: Set<HTTPMethod> = Self.idempotentMethods, statuses: Set<Int> = Self.passingStatuses,
        codes: Set<RequestError.Code> = Self.connectivityCodes, backoff: Backoff = Backoff(),
        maximumRetryAfter: Duration = .seconds(60), idempotencyKey: IdempotencyKey? = nil, shouldRetry: Predicate? = nil
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

    /// The methods whose effect is the same, sent once or twice.
    public static let idempotentMethods: Set<HTTPMethod> = [.get, .head, .options, .put, .delete, .trace, .query]
    /// Too slow, too early, too many, and what servers and gateways say when they are in trouble.
    public static let passingStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    /// The errors of the network: those that are `isConnectivity`.
    public static let connectivityCodes = RequestError.connectivityCodes

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        state.core.depositForRetries()
        guard let field = idempotencyKey?.field, IdempotencyKey.methods.contains(request.method),
            request.headers[field] == nil
        else { return }
        request.headers.add(name: field, value: state.core.idempotencyKey)
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        let core = request.handle.core
        // A 401 is an authenticator's to answer, unless it is among the policy's.
        let retries = request.attempts.dropLast().count { $0.error?.statusCode != 401 || statuses.contains(401) }
        guard retries < limit, await accepts(error, of: request) else { return .doNotRetry }
        // The pipeline refuses this one itself; it must not cost a retry.
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
        RetrySchedule(
            limit: limit, backoff: backoff, maximumRetryAfter: maximumRetryAfter, methods: methods,
            idempotencyKey: idempotencyKey)
    }

    private func accepts(_ error: RequestError, of request: any Request) async -> Bool {
        if let answer = await shouldRetry?(error, request) { return answer }
        guard codes.contains(error.code) || error.isValidation && statuses.contains(error.statusCode ?? 0) else {
            return false
        }
        // What was asked for, not what a redirect made of it; where nothing was built, nothing was sent.
        guard let sent = request.handle.core.read({ $0.attempt?.request }) else { return true }
        return schedule.allows(sent)
    }
}

/// Tries requests again whose connection was lost while they were under way, and no others: `RetryPolicy` with fewer
/// occasions.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// How it is done.
    public var policy: RetryPolicy

    /// A policy for lost connections alone.
    public init(
        limit: Int = 2, methods: Set<HTTPMethod> = RetryPolicy.idempotentMethods,
        backoff: RetryPolicy.Backoff = RetryPolicy.Backoff(), idempotencyKey: RetryPolicy.IdempotencyKey? = nil,
        shouldRetry: RetryPolicy.Predicate? = nil
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
    /// Another attempt after failures that may pass.
    public static func retry(limit: Int = 2, backoff: RetryPolicy.Backoff = RetryPolicy.Backoff()) -> Self {
        RetryPolicy(limit: limit, backoff: backoff)
    }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// Another attempt after a lost connection.
    public static func retryingLostConnections(limit: Int = 2) -> Self { ConnectionLostRetryPolicy(limit: limit) }
}
