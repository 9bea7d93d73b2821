/// An interceptor that adds a credential to every request. If the credential is due or refused, it refreshes the
/// credential once for all waiting requests.
///
///     let tokens = AuthenticationInterceptor(MyAuthenticator(), credential: saved)
///     let session = Session(
///         configuration: SessionConfiguration { $0.validation = [.standard] },
///         interceptor: .composed(.authentication(tokens), retrying))
///
/// - If the credential requires a refresh, or a refresh is in flight, a new request waits for the new credential.
/// - If the server refuses a request that was sent with the current credential, the request starts a refresh or joins
///   the refresh in flight, and is then retried. A request that was sent with an older credential is retried at once.
/// - A request is retried at most twice: its first credential may have expired, and its second may have been revoked in
///   the meantime. After the third refusal the request fails.
/// - The interceptor notices a refusal only if a validator rejects the response. Without validation, a 401 is a
///   successful response.
/// - Requests that the refresh itself makes, on any session, do not wait for the refresh. They are sent without the
///   credential.
/// - Requests whose `options.usesCredentials` is false, such as a login, are sent without the credential. They do not
///   wait for a refresh and do not start one.
/// - If all waiting requests are cancelled, the refresh is cancelled. If the cancelled refresh still returns a
///   credential, the interceptor keeps that credential.
/// - A failed refresh is not retried: all waiting requests fail with its error. Requests that the server refuses later
///   fail with the same error, until another request is adapted. That other request starts a new refresh if its
///   credential is due.
///
/// One interceptor may serve several sessions. The authenticator gets the session of the request that started the
/// refresh.
public final class AuthenticationInterceptor<A: Authenticator>: RequestInterceptor {
    private typealias State = RefreshState<A.Credential>

    private static var maximumRetries: Int { 2 }

    // Immutable
    /// The authenticator that applies and refreshes the credential.
    public let authenticator: A
    private let failurePolicy: FailedRefreshPolicy
    private let refreshTimeout: Duration?
    private let coordinator: (any RefreshCoordinator<A.Credential>)?
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
    ///   - refreshTimeout: The maximum duration of a refresh; 60 seconds by default. After this time the waiting
    ///     requests fail, even if the refresh ignores its cancellation. Nil means no limit.
    ///   - failurePolicy: Whether the interceptor keeps a credential whose refresh has failed; `.keep` by default.
    ///   - coordinator: Coordinates the refreshes of several processes; nil, the default, for a credential of this
    ///     process alone.
    ///   - clock: The clock that measures the window and the timeout.
    public init(
        _ authenticator: A, credential: A.Credential? = nil, refreshWindow: RefreshWindow? = RefreshWindow(),
        refreshTimeout: Duration? = .seconds(60), failurePolicy: FailedRefreshPolicy = .keep,
        coordinator: (any RefreshCoordinator<A.Credential>)? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.authenticator = authenticator
        self.failurePolicy = failurePolicy
        self.refreshTimeout = refreshTimeout
        self.coordinator = coordinator
        self.clock = clock
        elapsed = clock.stopwatch()
        box = Protected(State(credential: credential, window: refreshWindow))
    }

    /// The current credential. Set it after a login, for example.
    ///
    /// Setting the credential ends a refresh in flight. Requests that wait for the refresh use the new value, or fail
    /// with `.missingCredential` if the value is nil. The property is thread-safe.
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
    /// refresh, because the two would wait for each other forever.
    private var isWorkingForRefresh: Bool {
        let refreshes = SharedWork.current
        guard !refreshes.isEmpty, let underWay = box.withLock({ $0.refresh }) else { return false }
        return refreshes.contains { $0 === underWay }
    }

    // MARK: Refreshing

    /// Waits for the refresh in flight or for a new refresh, unless the credential is already newer than the known
    /// version. Throws if the refresh fails.
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

    /// Starts a refresh in an unstructured task, because the request that starts the refresh may be cancelled while
    /// other requests still wait for it.
    private func begin(_ refresh: SharedWork, _ old: A.Credential, for session: Session) {
        let work = Task {
            let result = await SharedWork.$current.withValue(SharedWork.current + [refresh]) {
                await renewed(old, session)
            }
            end(refresh, result)
        }
        // The timeout has its own task. A task group would wait for both tasks, even for a refresh that ignores its
        // cancellation.
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
            guard let coordinator else { return .success(try await authenticator.refresh(old, for: session)) }
            let counted = CountedAuthenticator(authenticator)
            let new = try await coordinator.refresh(old, with: counted, for: session)
            if !counted.hasRefreshed { box.withLock { $0.discountRefresh() } }
            return .success(new)
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
    /// Returns the given interceptor. It allows the short form `.composed(.authentication(tokens), retrying)`.
    public static func authentication<A>(
        _ interceptor: AuthenticationInterceptor<A>
    ) -> Self where Self == AuthenticationInterceptor<A> {
        interceptor
    }
}

extension AuthenticationInterceptor: CustomReflectable {
    /// A mirror without children, because the stored properties contain the credential.
    public nonisolated var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
