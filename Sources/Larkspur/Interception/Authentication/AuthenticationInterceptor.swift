/// Puts a credential into every request, and renews it when it is due or refused: once, however many requests wait for it.
///
///     let tokens = AuthenticationInterceptor(MyAuthenticator(), credential: saved)
///     let session = Session(
///         configuration: SessionConfiguration { $0.validation = [.standard] },
///         interceptor: .composed(.authentication(tokens), retrying))
///
/// - A request that comes with a credential that `requiresRefresh`, or while one is being renewed, waits for the new one.
/// - A request that is refused with the credential of the day begins a refresh, or joins it, and is then made anew, by the
///   whole chain of interceptors; one that was sent with an older credential at once. That is done twice at most: the first
///   credential may have been out of date, the second revoked meanwhile; the third refusal stands.
/// - A refusal is known by the error that validation makes of its status: without validation nothing here sees a 401.
/// - The refresh's own requests, and those that wait for them, never wait for it: they pass untouched, on any session.
/// - Requests whose `options.usesCredentials` is false, such as a login, pass untouched: they need no credential, wait for no
///   refresh, and begin none.
/// - Cancelling the last request that waits cancels the refresh. What it brings all the same is kept.
/// - If a refresh fails, all that wait for it fail with its error, and so do those that are refused before the next
///   request is made. That one tries again.
///
/// One interceptor may serve several sessions. A refresh is given the session of the request that began it.
public final class AuthenticationInterceptor<A: Authenticator>: RequestInterceptor {
    private typealias State = RefreshState<A.Credential>

    private static var maximumRetries: Int { 2 }

    // Immutable
    /// Knows how the credential is used and renewed.
    public let authenticator: A
    private let failurePolicy: FailedRefreshPolicy
    private let refreshTimeout: Duration?
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration

    // Guarded by the box
    private let box: Protected<State>

    /// - Parameters:
    ///   - refreshWindow: How many refreshes there may be within a time, else `.excessiveRefresh`; nil allows any number.
    ///   - refreshTimeout: After what time a refresh is given up, whether or not it listens to its cancel.
    ///   - failurePolicy: What becomes of a credential that could not be renewed.
    ///   - clock: Measures the window and the timeout.
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

    /// The credential of the day. Setting one, after a login for instance, ends a refresh that is under way: who waits for
    /// it goes on with what was set, and fails with `.missingCredential` if that is nil.
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

    /// Whether the request at hand is one that the refresh under way asks for, or waits for.
    private var isWorkingForRefresh: Bool {
        let refreshes = Refresh.current
        guard !refreshes.isEmpty, let underWay = box.withLock({ $0.refresh }) else { return false }
        return refreshes.contains { $0 === underWay }
    }

    // MARK: Refreshing

    /// Returns when the credential is another one than the known version, and throws when there is none to be had.
    private func waitForRefresh(on path: State.Path, knowing version: Int, for session: Session) async throws {
        let ticket = box.withLock { $0.nextTicket() }
        let now = elapsed()
        let outcome: State.Outcome = await suspended { waiter in
            change(for: session) { $0.wait(waiter, ticket, on: path, knowing: version, at: now) }
        } onCancel: {
            change { $0.withdraw(ticket) }
        }
        try outcome.get()
    }

    /// Changes the state and does what it asks for.
    private func change(for session: Session? = nil, _ event: (inout State) -> State.Action) {
        let action = box.withLock { event(&$0) }
        for task in action.cancelled { task.cancel() }
        for waiter in action.answered { waiter.resume(returning: action.outcome) }
        if let (refresh, old) = action.begun, let session { begin(refresh, old, for: session) }
    }

    /// Sets a refresh going. Unstructured: it is of all who wait, and whoever began it may be cancelled before the others.
    private func begin(_ refresh: Refresh, _ old: A.Credential, for session: Session) {
        let work = Task {
            let result = await Refresh.$current.withValue(Refresh.current + [refresh]) { await renewed(old, session) }
            end(refresh, result)
        }
        // One more, because work that does not listen to its cancel would hold up a group.
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
            let message = "the credential could not be renewed: \(error)"
            return .failure(AuthenticationError(.refreshFailed, message, underlying: error))
        }
    }

    private func end(_ refresh: Refresh, _ result: Result<A.Credential, AuthenticationError>) {
        change { $0.end(refresh, result, failurePolicy) }
    }
}

extension RequestInterceptor {
    /// Interceptors of the library by their names: `.composed(.authentication(tokens), retrying)`.
    public static func authentication<A>(
        _ interceptor: AuthenticationInterceptor<A>
    ) -> Self where Self == AuthenticationInterceptor<A> {
        interceptor
    }
}

extension AuthenticationInterceptor: CustomReflectable {
    /// A mirror without the credential.
    public nonisolated var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
