/// The state of an ``AuthenticationInterceptor``: its credential and at most one refresh in flight.
///
/// This type is a state machine without side effects. Each event returns an `Action`, which the interceptor performs
/// after it has released the state's lock. Exactly one action answers each waiter, because a continuation must be
/// resumed exactly once (rule R4 of <doc:Concurrency>).
struct RefreshState<Credential: Sendable> {
    typealias Outcome = Result<Void, any Error>
    typealias Waiter = Continuation<Outcome>

    /// The reason why a request waits for a refresh.
    enum WaitReason {
        /// The request is being adapted. If the credential is not due, the request waits only if a refresh is in
        /// flight.
        case adapting(isDue: Bool)
        /// The server refused the request.
        case retrying
    }

    struct Action {
        var begun: (refresh: SharedWork, old: Credential)?
        var answered: [Waiter] = []
        var outcome: Outcome = .success(())
        var cancelled: [Task<Void, Never>] = []
        /// Values that the interceptor releases after unlocking, because their deinitializers may run user code.
        var discarded: (credential: Credential?, failure: AuthenticationError?)
    }

    private struct UnderWay {
        let refresh: SharedWork
        var waiters: [Int: Waiter]
        var tasks: [Task<Void, Never>] = []
    }

    private enum Phase {
        case idle
        case refreshing(UnderWay)
        /// The last refresh failed. Until the next request is adapted, refused requests fail with the same error.
        case failed(AuthenticationError)
    }

    private(set) var credential: Credential?
    /// The number of times that the credential was replaced.
    private(set) var version = 0
    private let window: RefreshWindow?
    private var phase = Phase.idle
    /// Refreshes of the current credential that were cancelled because no request waited any more. Such a refresh may
    /// still return a new credential. If the server accepts each refresh token only once, that new credential is the
    /// only valid credential.
    private var cancelled: [SharedWork] = []
    /// The start times of the refreshes within the window.
    private var startTimes: [Duration] = []
    private var lastTicket = 0

    init(credential: Credential?, window: RefreshWindow?) {
        self.credential = credential
        self.window = window
    }

    var refresh: SharedWork? {
        if case .refreshing(let underWay) = phase { underWay.refresh } else { nil }
    }

    var waiting: Int {
        if case .refreshing(let underWay) = phase { underWay.waiters.count } else { 0 }
    }

    /// Returns the credential, its version and whether a refresh is in flight, for a request that is being adapted.
    /// Ends the phase `failed`; the caller releases the error of that phase after unlocking.
    mutating func beginAdapting() -> (
        credential: Credential?, version: Int, isRefreshing: Bool, discarded: AuthenticationError?
    ) {
        guard case .failed(let error) = phase else { return (credential, version, refresh != nil, nil) }
        phase = .idle
        return (credential, version, false, error)
    }

    mutating func nextTicket() -> Int {
        lastTicket += 1
        return lastTicket
    }

    /// Adds the waiter to the refresh in flight, or starts a refresh. If the credential has been replaced since the
    /// known version, or if no refresh is needed, answers the waiter at once.
    mutating func wait(_ waiter: Waiter, _ ticket: Int, on reason: WaitReason, knowing known: Int, at now: Duration)
        -> Action
    {
        guard known == version, let credential else { return Action(answered: [waiter]) }
        switch (phase, reason) {
        case (.refreshing(var underWay), _):
            underWay.waiters[ticket] = waiter
            phase = .refreshing(underWay)
            return Action()
        case (.failed(let error), .retrying):
            return Action(answered: [waiter], outcome: .failure(error))
        case (.idle, .adapting(isDue: false)), (.failed, .adapting(isDue: false)):
            return Action(answered: [waiter])
        case (.idle, .retrying), (.idle, .adapting(isDue: true)), (.failed, .adapting(isDue: true)):
            guard begin(at: now) else {
                var action = move(to: .failed(.excessiveRefresh))
                action.answered = [waiter]
                action.outcome = .failure(AuthenticationError.excessiveRefresh)
                return action
            }
            let refresh = SharedWork()
            var action = move(to: .refreshing(UnderWay(refresh: refresh, waiters: [ticket: waiter])))
            action.begun = (refresh, credential)
            return action
        }
    }

    /// Counts the start of a refresh. Returns false if the window's limit is reached.
    private mutating func begin(at now: Duration) -> Bool {
        guard let window else { return true }
        startTimes.removeAll { now - $0 >= window.interval }
        guard startTimes.count < window.maximumAttempts else { return false }
        startTimes.append(now)
        return true
    }

    /// Does not count the last refresh, because the credential came from another process.
    mutating func discountRefresh() { _ = startTimes.popLast() }

    /// Stores the tasks of a refresh. Returns false if the refresh has already ended.
    mutating func keep(_ tasks: [Task<Void, Never>], of refresh: SharedWork) -> Bool {
        guard case .refreshing(var underWay) = phase, underWay.refresh === refresh else { return false }
        underWay.tasks = tasks
        phase = .refreshing(underWay)
        return true
    }

    /// Ends the wait of a cancelled request. If no other request waits, cancels the refresh.
    mutating func withdraw(_ ticket: Int) -> Action {
        guard case .refreshing(var underWay) = phase, let waiter = underWay.waiters.removeValue(forKey: ticket) else {
            return Action()
        }
        var action = Action(answered: [waiter], outcome: .failure(CancellationError()))
        if underWay.waiters.isEmpty {
            phase = .idle
            action.cancelled = underWay.tasks
            cancelled.append(underWay.refresh)
        } else {
            phase = .refreshing(underWay)
        }
        return action
    }

    /// Handles the end of a refresh. If the refresh was cancelled, a new credential is stored, but an error is ignored.
    /// If the refresh has timed out, or the credential was replaced in the meantime, any result is ignored.
    mutating func end(
        _ refresh: SharedWork, _ result: Result<Credential, AuthenticationError>, _ policy: FailedRefreshPolicy
    ) -> Action {
        if let index = cancelled.firstIndex(where: { $0 === refresh }) {
            cancelled.remove(at: index)
            if case .success(let new) = result { return replace(new) }
        }
        guard self.refresh === refresh else { return Action() }
        switch result {
        case .success(let new): return replace(new)
        case .failure(let error):
            var action = policy == .clear ? replace(nil) : move(to: .idle)
            phase = .failed(error)
            action.outcome = .failure(error)
            return action
        }
    }

    /// Replaces the credential and ends a refresh in flight. Waiting requests continue with the new credential.
    mutating func replace(_ new: Credential?) -> Action {
        var action = move(to: .idle)
        action.discarded.credential = credential
        credential = new
        version += 1
        cancelled = []
        return action
    }

    private mutating func move(to next: Phase) -> Action {
        defer { phase = next }
        switch phase {
        case .idle: return Action()
        case .failed(let error): return Action(discarded: (nil, error))
        case .refreshing(let underWay):
            return Action(answered: Array(underWay.waiters.values), cancelled: underWay.tasks)
        }
    }
}
