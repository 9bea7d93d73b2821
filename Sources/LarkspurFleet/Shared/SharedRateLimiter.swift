import Larkspur
internal import LarkspurAnnex

/// A limit on the number of hops of all processes together in a time.
///
///     configuration.admissions = [
///         SharedRateLimiter(store, name: "api", 1_000, per: .seconds(60), ifStoreFails: .failOpen)
///     ]
///
/// The store counts the hops of a window, which begins with the first hop after the last window. A process borrows a
/// tenth of its share at once, so most hops ask no store. What a process has borrowed and does not use is lost at the
/// end of the window.
///
/// In the first half of a window, a process gets at most its share: the count divided by the processes that were active
/// in this window or the one before. In the second half, processes also get what others have left. So processes that
/// always have hops get equal parts, from their second window on.
///
/// A hop waits until there is a permit, in the order of arrival. If that cannot be before its total timeout, it fails
/// at once with `.rateLimited`. A response from the session's cache needs no permit. A limit for each process, and the
/// limits that servers announce, are those of `RateLimiter`.
///
/// If the store fails, or does not answer within the `timeout`, ``StoreFailure`` decides. With `.failOpen`, hops then
/// wait for the store no more. The limiter asks it once in each window until it answers.
public final class SharedRateLimiter: HopAdmission {
    /// The behaviour of a process while the store cannot be used.
    public enum StoreFailure: Sendable {
        /// Hops go on: the process uses its share, by the last known number of processes.
        case failOpen
        /// Hops fail with `.rateLimited`, and the `StoreError` as the underlying error.
        case failClosed
    }

    private struct State {
        var budget: SharedBudget
        var queue: [UInt64: (hop: PendingHop, deadline: Duration?)] = [:]
        var numbers: [PendingHop: UInt64] = [:]
        var first: UInt64 = 1
        var last: UInt64 = 0
        var isBorrowing = false
        /// Whether the store could not be used the last time. Hops then do not wait for it.
        var isStoreFailing = false
        var isAskingAgain = false
        /// The time before which there are no permits.
        var blockedUntil = Duration.zero
    }

    private let store: any SharedStore
    private let name: String
    private let count: Int
    private let window: Duration
    private let storeFailure: StoreFailure
    private let expectedProcesses: Int
    private let timeout: Duration
    private let applies: @Sendable (TransportRequest) -> Bool
    private let clock: any Clock<Duration>
    private let watch: StopWatch
    private let state: Guarded<State>

    /// Creates a limiter. With a count or a window that is not positive, every request fails with `.invalidLimit`.
    ///
    /// - Parameters:
    ///   - name: The name of the counter in the store. All limiters with the same name have the same count and window.
    ///   - count: The number of hops that all processes may send in a window; at most a billion.
    ///   - window: The duration of a window, such as a minute.
    ///   - storeFailure: The behaviour while the store cannot be used.
    ///   - expectedProcesses: The number of processes that `.failOpen` assumes before the store has answered; 1 by
    ///     default.
    ///   - timeout: The maximum time for which hops wait for the store; half a second by default.
    ///   - clock: The clock that measures the window in this process.
    ///   - applies: Whether a hop needs a permit; every hop does by default. The closure is called on the request's
    ///     thread, and must return at once.
    public init(
        _ store: any SharedStore, name: String, _ count: Int, per window: Duration,
        ifStoreFails storeFailure: StoreFailure, expectedProcesses: Int = 1, timeout: Duration = .milliseconds(500),
        clock: any Clock<Duration> = ContinuousClock(),
        where applies: @escaping @Sendable (TransportRequest) -> Bool = { _ in true }
    ) {
        (self.store, self.name, self.count, self.window) = (store, name, count, window)
        (self.storeFailure, self.expectedProcesses) = (storeFailure, max(1, expectedProcesses))
        (self.clock, self.applies, watch, self.timeout) = (clock, applies, StopWatch(clock), timeout)
        state = Guarded(State(budget: SharedBudget(count: min(count, SharedBudget.maximumCount), window: window)))
    }

    // MARK: HopAdmission

    public func admit(_ hop: PendingHop) {
        guard count > 0, window > .zero else {
            return hop.refuse(TransportError(.invalidLimit, "the count and the window of a shared limit are positive"))
        }
        guard applies(hop.request) else { return _ = hop.admit() }
        switch arrive(hop, at: watch.elapsed) {
        case .granted: grant(hop)
        case .late(let delay): refuse(hop, delay)
        case .queued(let begins):
            // A task of its own, which ends when no hop waits.
            if begins { Task { await borrow() } }
        }
    }

    private enum Arrival {
        case granted
        case late(Duration)
        case queued(begins: Bool)
    }

    private func arrive(_ hop: PendingHop, at now: Duration) -> Arrival {
        let deadline = hop.timeLeft.map { now + $0 }
        return state.withLock { state in
            if state.numbers.isEmpty, state.budget.take(at: now) { return .granted }
            if let deadline, deadline < state.blockedUntil { return .late(state.blockedUntil - now) }
            state.last += 1
            state.numbers[hop] = state.last
            state.queue[state.last] = (hop, deadline)
            defer { state.isBorrowing = true }
            return .queued(begins: !state.isBorrowing)
        }
    }

    private func refuse(_ hop: PendingHop, _ delay: Duration) {
        let text =
            "the shared rate limit allows the request only after \(delay.rounded), when its total timeout has passed"
        hop.refuse(TransportError(.rateLimited, text))
    }

    public func withdraw(_ hop: PendingHop) {
        state.withLock { state in
            if let number = state.numbers.removeValue(forKey: hop) { state.queue[number] = nil }
        }
    }

    /// Admits a hop. If it has ended meanwhile, its permit goes back.
    private func grant(_ hop: PendingHop) {
        if !hop.admit() { state.withLock { $0.budget.giveBack() } }
    }

    // MARK: Borrowing

    private func borrow() async {
        while let step = nextStep() {
            switch step {
            case .wait(let time): await wait(until: time)
            case .ask(_, let amount):
                if case .failOpen = storeFailure, state.withLock({ $0.isStoreFailing }) {
                    useLocalShare()
                    continue
                }
                do {
                    let answer = try await add(amount)
                    let now = watch.elapsed
                    state.withLock { $0.budget.receive(answer, of: step, at: now) }
                } catch {
                    handle(error as? StoreError ?? StoreError(.unavailable, "\(error)"))
                }
            }
        }
    }

    /// An addition that takes longer may still be made. Its permits are lost at the end of the window.
    private func add(_ amount: Int64) async throws -> StoreCount {
        try await Race.result(within: timeout, on: ContinuousClock()) { [store, name, window] in
            try await store.add(amount, to: name, window: window)
        }
    }

    private func useLocalShare() {
        let now = watch.elapsed
        let asks = state.withLock { state in
            state.budget.useLocalShare(at: now, ofProcesses: expectedProcesses)
            defer { state.isAskingAgain = true }
            return !state.isAskingAgain
        }
        guard asks else { return }
        // A task of its own: hops do not wait for it.
        Task {
            let isBack = (try? await add(0)) != nil
            state.withLock { ($0.isAskingAgain, $0.isStoreFailing) = (false, !isBack) }
        }
    }

    /// Admits the hops for which there are permits. Returns what to do for the others; nil if no hop waits.
    private func nextStep() -> SharedBudget.Step? {
        while true {
            let now = watch.elapsed
            let (hop, step) = state.withLock { state -> (PendingHop?, SharedBudget.Step?) in
                guard !state.queue.isEmpty else {
                    state.isBorrowing = false
                    return (nil, nil)
                }
                guard state.budget.take(at: now) else { return (nil, state.budget.step(at: now)) }
                return (Self.removeFirst(&state), nil)
            }
            guard let hop else { return step }
            grant(hop)
        }
    }

    private static func removeFirst(_ state: inout State) -> PendingHop? {
        while state.first <= state.last {
            defer { state.first += 1 }
            guard let (hop, _) = state.queue.removeValue(forKey: state.first) else { continue }
            state.numbers[hop] = nil
            return hop
        }
        return nil
    }

    private func removeAll(where isRemoved: (Duration?) -> Bool) -> [PendingHop] {
        state.withLock { state in
            let removed = state.queue.filter { isRemoved($0.value.deadline) }.sorted { $0.key < $1.key }
            for (number, entry) in removed {
                state.queue[number] = nil
                state.numbers[entry.hop] = nil
            }
            return removed.map(\.value.hop)
        }
    }

    /// Waits until there can be permits. Refuses the hops whose deadline is earlier.
    private func wait(until time: Duration) async {
        let delay = time - watch.elapsed
        state.withLock { $0.blockedUntil = time }
        for hop in removeAll(where: { deadline in deadline.map { $0 < time } ?? false }) { refuse(hop, delay) }
        if delay > .zero { try? await clock.sleep(for: delay) }
    }

    private func handle(_ error: StoreError) {
        switch storeFailure {
        case .failOpen:
            state.withLock { $0.isStoreFailing = true }
            useLocalShare()
        case .failClosed:
            for hop in removeAll(where: { _ in true }) {
                let text = "the shared rate limit cannot be checked: \(error)"
                hop.refuse(TransportError(.rateLimited, text, underlying: error))
            }
        }
    }
}
