/// Adds a credential to every request and refreshes it when it is due or refused: once, however many requests wait.
///
///     let tokens = AuthenticationInterceptor(MyAuthenticator(), credential: saved)
///     let session = Session(
///         configuration: SessionConfiguration { $0.validation = [.standard] },
///         interceptor: .composed(.authentication(tokens), retrying))
///
/// - If the credential requires a refresh, or a refresh is in flight, a new request waits for the new credential.
/// - If the server refuses a request with the current credential, the request starts a refresh or joins the one in
///   flight, and is then retried. If it was sent with an older credential, it is retried at once. A request is retried
///   at most twice: its first credential may have expired, and its second may have been revoked meanwhile. The third
///   refusal stands.
/// - The interceptor sees a refusal only as the error of a validator. Without validation, the interceptor never sees a
///   401.
/// - Requests that the refresh itself makes do not wait for it, on any session. They are sent without the credential.
/// - Requests whose `options.usesCredentials` is false, such as a login, are sent without the credential. They do not
///   wait for a refresh and do not start one.
/// - Cancelling the last waiting request cancels the refresh. If the refresh returns a credential nevertheless, it is
///   kept.
/// - A failed refresh is not retried: all waiting requests fail with its error, and so do requests that are refused
///   before the next request is adapted. That next request starts a new refresh if it needs one.
///
/// One interceptor may serve several sessions. A refresh gets the session of the request that started it.
public final class AuthenticationInterceptor<A: Authenticator>: RequestInterceptor {
    private typealias State = RefreshState<A.Credential>

    private static var maximumRetries: Int { 2 }

    // Immutable
    /// The authenticator that applies and refreshes the credential.
    public let authenticator: A
    private let failurePolicy: FailedRefreshPolicy
    private let refreshTimeout: Duration?
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: Applies and refreshes the credential.
    ///   - credential: The first credential; nil makes requests fail with `.missingCredential` until one is set.
    ///   - refreshWindow: The maximum number of refreshes in a period; 5 in 30 seconds by default. A further refresh
    ///     fails with `.excessiveRefresh`. Nil means no limit.
    ///   - refreshTimeout: The maximum time of a refresh, even if it ignores its cancellation; 60 seconds by default.
    ///     Nil means no limit.
    ///   - failurePolicy: Whether a credential is kept after its refresh failed; it is by default.
    ///   - clock: The clock that measures the window and the timeout.
    public init(
        _ authenticator: A, credential: A.Credential? = nil, refreshWindow: RefreshWindow? = RefreshWindow(),
        refreshTimeout: Duration? = .seconds(60), failurePolicy: FailedRefreshPolicy = .keep,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.authenticator = authenticator
        self.failurePolicy = failurePolicy
        self.refreshTimeout = refreshTimeout
        self.clock = clock
        elapsed = clock.stopwatch()
        box = Protected(State(credential: credential, window: refreshWindow))
    }

    /// The current credential. Set it after a login, for example.
    ///
    /// Setting it ends a refresh in flight. Requests that wait for the refresh use the new value, or fail with
    /// `.missingCredential` if it is nil. It can be set from any thread.
    public var credential: A.Credential? {
        get { box.withLock { $0.credential } }
        set { change { $0.replace(newValue) } }
    }

    var waiting: Int { box.withLock { $0.waiting } }

    // MARK: Intercepting

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        guard request.options.usesCredentials != false, try authenticator.authenticates(request), !isWorkingForRefresh
        else { return }
        let (known, version, isRefreshing, _) = box.withLock { $0.beginAdapting() }
        guard let known else { throw AuthenticationError.missingCredential }
        let isDue = authenticator.requiresRefresh(known)
        if isDue || isRefreshing {
            try await waitForRefresh(on: .adapting(isDue: isDue), knowing: version, for: state.session)
        }
        guard let credential else { throw AuthenticationError.missingCredential }
        authenticator.apply(credential, to: &request)
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        let attempts = request.attempts
        guard let sent = attempts.last?.request, sent.options.usesCredentials != false,
            (try? authenticator.authenticates(sent)) == true, !isWorkingForRefresh,
            let asked = attempts.last?.hops.last?.request, asked.url.origin == sent.url.origin
        else { return .doNotRetry }
        let refusals = attempts.map { attempt in
            guard let hop = attempt.hops.last, let head = hop.head else { return false }
            return authenticator.didRequest(hop.request, with: head, failDueTo: attempt.error ?? error)
        }
        guard refusals.last == true, refusals.count(where: { $0 }) <= Self.maximumRetries else { return .doNotRetry }

        let (known, version) = box.withLock { ($0.credential, $0.version) }
        guard let known else { return .doNotRetryWithError(AuthenticationError.missingCredential) }
        guard authenticator.isRequest(sent, authenticatedWith: known) else { return .retry }
        do {
            try await waitForRefresh(on: .retrying, knowing: version, for: session)
            return .retry
        } catch {
            return .doNotRetryWithError(error)
        }
    }

    /// Whether the current task does work that the refresh in flight may wait for. Such a task must not wait for the
    /// refresh.
    private var isWorkingForRefresh: Bool {
        let refreshes = SharedWork.current
        guard !refreshes.isEmpty, let underWay = box.withLock({ $0.refresh }) else { return false }
        return refreshes.contains { $0 === underWay }
    }

    // MARK: Refreshing

    /// Returns when the credential is newer than the known version. Throws if the refresh fails.
    private func waitForRefresh(on reason: State.WaitReason, knowing version: Int, for session: Session) async throws {
        let ticket = box.withLock { $0.nextTicket() }
        let now = elapsed()
        let outcome: State.Outcome = await suspended { waiter in
            change(for: session) { $0.wait(waiter, ticket, on: reason, knowing: version, at: now) }
        } onCancel: {
            change { $0.withdraw(ticket) }
        }
        try outcome.get()
    }

    /// Changes the state and performs the action that the state returns.
    private func change(for session: Session? = nil, _ event: (inout State) -> State.Action) {
        let action = box.withLock { event(&$0) }
        for task in action.cancelled { task.cancel() }
        for waiter in action.answered { waiter.resume(returning: action.outcome) }
        if let (refresh, old) = action.begun, let session { begin(refresh, old, for: session) }
    }

    /// Starts a refresh. The task is unstructured, because the request that starts it may be cancelled before the
    /// others.
    private func begin(_ refresh: SharedWork, _ old: A.Credential, for session: Session) {
        let work = Task {
            let result = await SharedWork.$current.withValue(SharedWork.current + [refresh]) {
                await renewed(old, session)
            }
            end(refresh, result)
        }
        // A second task, because in a task group a refresh that ignores its cancellation would block the timeout.
        let timer = refreshTimeout.map { timeout in
            Task {
                guard (try? await clock.sleep(for: timeout)) != nil else { return }
                end(refresh, .failure(.refreshTimedOut))
            }
        }
        let tasks = [work, timer].compactMap { $0 }
        if !box.withLock({ $0.keep(tasks, of: refresh) }) { tasks.forEach { $0.cancel() } }
    }

    private func renewed(_ old: A.Credential, _ session: Session) async -> Result<A.Credential, AuthenticationError> {
        do {
            return .success(try await authenticator.refresh(old, for: session))
        } catch let error as AuthenticationError {
            return .failure(error)
        } catch {
            let message = "the credential could not be refreshed: \(error)"
            return .failure(AuthenticationError(.refreshFailed, message, underlying: error))
        }
    }

    private func end(_ refresh: SharedWork, _ result: Result<A.Credential, AuthenticationError>) {
        change { $0.end(refresh, result, failurePolicy) }
    }
}

extension RequestInterceptor {
    /// Returns the interceptor, so that it can be named in a list: `.composed(.authentication(tokens), retrying)`.
    public static func authentication<A>(
        _ interceptor: AuthenticationInterceptor<A>
    ) -> Self where Self == AuthenticationInterceptor<A> {
        interceptor
    }
}

extension AuthenticationInterceptor: CustomReflectable {
    /// A mirror without children, because they contain the credential.
    public nonisolated var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
