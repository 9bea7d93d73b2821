/// The state of an `AuthenticationInterceptor`: its credential, and the one refresh that may be under way.
///
/// A pure machine: each event returns what is to be done after unlocking. Every waiter that it takes is in exactly one
/// `Action` later (R4).
struct RefreshState<Credential: Sendable> {
    typealias Outcome = Result<Void, any Error>
    typealias Waiter = Suspension<Outcome>

    /// Who waits for a refresh.
    enum Path {
        /// A request that is being adapted; with a credential that is not due it only joins.
        case adapting(isDue: Bool)
        /// A request that was refused.
        case retrying
    }

    struct Action {
        var begun: (refresh: Refresh, old: Credential)?
        var answered: [Waiter] = []
        var outcome: Outcome = .success(())
        var cancelled: [Task<Void, Never>] = []
        /// Let go of after unlocking: their ends may be anybody's code.
        var discarded: (credential: Credential?, failure: AuthenticationError?)
    }

    private struct UnderWay {
        let refresh: Refresh
        var waiters: [Int: Waiter]
        var tasks: [Task<Void, Never>] = []
    }

    private enum Phase {
        case idle
        case refreshing(UnderWay)
        /// Until the next request is adapted: what was refused meanwhile shares the failure.
        case failed(AuthenticationError)
    }

    private(set) var credential: Credential?
    /// How often the credential was replaced.
    private(set) var version = 0
    private let window: RefreshWindow?
    private var phase = Phase.idle
    /// Refreshes that were cancelled because nobody waited any more, while the credential is the one that they renew. With
    /// tokens that are good for one refresh, what they bring all the same is the only one that the server still takes.
    private var cancelled: [Refresh] = []
    /// When refreshes began, those within the window.
    private var beginnings: [Duration] = []
    private var lastTicket = 0

    init(credential: Credential?, window: RefreshWindow?) {
        self.credential = credential
        self.window = window
    }

    var refresh: Refresh? {
        if case .refreshing(let underWay) = phase { underWay.refresh } else { nil }
    }

    var waiting: Int {
        if case .refreshing(let underWay) = phase { underWay.waiters.count } else { 0 }
    }

    /// A request comes to be adapted: a failure that others had is not its own, and is to be let go of after unlocking.
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

    /// Waits for the refresh under way, or begins one, unless the credential is another one by now.
    mutating func wait(_ waiter: Waiter, _ ticket: Int, on path: Path, knowing known: Int, at now: Duration) -> Action {
        guard known == version, let credential else { return Action(answered: [waiter]) }
        switch (phase, path) {
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
                var action = leave(for: .failed(.excessiveRefresh))
                action.answered = [waiter]
                action.outcome = .failure(AuthenticationError.excessiveRefresh)
                return action
            }
            let refresh = Refresh()
            var action = leave(for: .refreshing(UnderWay(refresh: refresh, waiters: [ticket: waiter])))
            action.begun = (refresh, credential)
            return action
        }
    }

    /// Counts a refresh, if the window has room for it.
    private mutating func begin(at now: Duration) -> Bool {
        guard let window else { return true }
        beginnings.removeAll { now - $0 >= window.interval }
        guard beginnings.count < window.maximumAttempts else { return false }
        beginnings.append(now)
        return true
    }

    /// Keeps the tasks of a refresh; false if it is over already.
    mutating func keep(_ tasks: [Task<Void, Never>], of refresh: Refresh) -> Bool {
        guard case .refreshing(var underWay) = phase, underWay.refresh === refresh else { return false }
        underWay.tasks = tasks
        phase = .refreshing(underWay)
        return true
    }

    /// Somebody waits no more; with the last one the refresh is cancelled.
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

    /// The refresh is over. If it was cancelled before, only a credential counts; if it was given up, nothing does.
    mutating func end(
        _ refresh: Refresh, _ result: Result<Credential, AuthenticationError>, _ policy: FailedRefreshPolicy
    ) -> Action {
        if let index = cancelled.firstIndex(where: { $0 === refresh }) {
            cancelled.remove(at: index)
            if case .success(let new) = result { return replace(new) }
        }
        guard self.refresh === refresh else { return Action() }
        switch result {
        case .success(let new): return replace(new)
        case .failure(let error):
            var action = policy == .clear ? replace(nil) : leave(for: .idle)
            phase = .failed(error)
            action.outcome = .failure(error)
            return action
        }
    }

    /// Another credential, from wherever: who waits goes on with it, and what was under way is given up.
    mutating func replace(_ new: Credential?) -> Action {
        var action = leave(for: .idle)
        action.discarded.credential = credential
        credential = new
        version += 1
        cancelled = []
        return action
    }

    private mutating func leave(for next: Phase) -> Action {
        defer { phase = next }
        switch phase {
        case .idle: return Action()
        case .failed(let error): return Action(discarded: (nil, error))
        case .refreshing(let underWay):
            return Action(answered: Array(underWay.waiters.values), cancelled: underWay.tasks)
        }
    }
}

/// One refresh, by its identity.
///
/// The tasks that work for it are marked with it, and what requests they make pass the interceptor that waits for it. A shared
/// trust evaluation is marked in the same way (`TrustPolicy`).
final class Refresh: Sendable {
    @TaskLocal static var current: [Refresh] = []
}
