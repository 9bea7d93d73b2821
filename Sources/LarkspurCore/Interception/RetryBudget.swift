/// A limit for a session's retries, in proportion to its requests. It keeps retries from adding load to an overloaded
/// server.
///
///     configuration.retryBudget = RetryBudget(ratio: 0.2)
///
/// The first attempt of each request with a ``RetryPolicy`` deposits a fraction of a retry; each retry withdraws a
/// whole retry. Resumable uploads and event streams also use the budget: each of their requests that follows a failure
/// is a retry. So is each repetition by the transport within a hop (``TransportMetrics/repetitions``). A few retries
/// each second are free, so that a session with few requests can retry at all. A child session shares its parent's
/// budget unless the child has its own budget.
public struct RetryBudget: Sendable, Hashable {
    /// The fraction of a retry that a first attempt deposits, from 0 to 1,000; 0.1 by default.
    public var ratio: Double
    /// The number of free retries each second; 10 by default. Free retries that are not used within a second are lost.
    public var minimumPerSecond: Int
    /// The time for which a deposit can be used; 10 seconds by default.
    public var lifetime: Duration

    /// Creates a budget. By default, the budget allows one retry for ten requests, and in addition ten free retries
    /// each second.
    public init(ratio: Double = 0.1, minimumPerSecond: Int = 10, lifetime: Duration = .seconds(10)) {
        self.ratio = ratio
        self.minimumPerSecond = minimumPerSecond
        self.lifetime = lifetime
    }
}

/// The current balance of a session's retry budget.
///
/// The lifetime of deposits is divided into periods. Each slot has the deposits of one period, and they expire
/// together. The account counts in thousandths of a retry, so that ten deposits of 0.1 add up to exactly one retry.
final class RetryAccount: Sendable {
    private static let slotCount = 10
    private static let whole = 1_000

    private struct Balance {
        /// The deposits of each period, the oldest first.
        var slots = [Int](repeating: 0, count: RetryAccount.slotCount)
        /// The number of the period that the last slot belongs to.
        var period: Int64 = 0
        /// The time up to which the free retries are used. At ten free retries each second, a free retry uses a tenth
        /// of a second.
        var spent = Duration.zero
    }

    // Immutable
    let budget: RetryBudget
    private let deposit: Int
    private let rate: Int
    private let slotLength: Duration
    private let elapsed: @Sendable () -> Duration
    /// Whether the time is read without code of users.
    let isOnSystemClock: Bool

    // Mutable state, guarded by the lock of `Protected`
    private let balance: Protected<Balance>

    init(_ budget: RetryBudget, on clock: any Clock<Duration>) {
        self.budget = budget
        let ratio = budget.ratio.isFinite ? min(max(budget.ratio, 0), 1_000) : 0
        deposit = Int((ratio * Double(Self.whole)).rounded())
        rate = min(max(budget.minimumPerSecond, 0), 1_000_000)
        slotLength = max(budget.lifetime, .milliseconds(10)) / Self.slotCount
        elapsed = clock.stopwatch()
        isOnSystemClock = clock is ContinuousClock || clock is SuspendingClock
        balance = Protected(Balance())
    }

    /// Deposits the fraction of a retry that a first attempt allows.
    func add() {
        let now = elapsed()
        balance.withLock { balance in
            expire(&balance, at: now)
            let last = Self.slotCount - 1
            balance.slots[last] = min(balance.slots[last] + deposit, .max / 2 / Self.slotCount)
        }
    }

    /// Withdraws a retry; returns false if none is left.
    func withdraw() -> Bool {
        let now = elapsed()
        return balance.withLock { balance in
            expire(&balance, at: now)
            guard balance.slots.reduce(0, +) < Self.whole else {
                take(from: &balance.slots)
                return true
            }
            guard rate > 0 else { return false }
            let next = max(balance.spent, now) + .seconds(1) / rate
            guard next - now <= .seconds(1) else { return false }
            balance.spent = next
            return true
        }
    }

    /// Withdraws the repetitions of a hop, which the transport has sent already, as far as retries are left.
    func charge(_ repetitions: Int) {
        for _ in 0..<repetitions where !withdraw() { return }
    }

    /// Takes a whole retry from the deposits that expire first.
    private func take(from slots: inout [Int]) {
        var owed = Self.whole
        for index in slots.indices {
            let part = min(owed, slots[index])
            slots[index] -= part
            owed -= part
        }
    }

    private func expire(_ balance: inout Balance, at now: Duration) {
        let period = Int64(now / slotLength)
        let passed = Int(clamping: period - balance.period)
        guard passed > 0 else { return }
        balance.period = period
        let kept = balance.slots.dropFirst(min(passed, Self.slotCount))
        balance.slots = kept + [Int](repeating: 0, count: Self.slotCount - kept.count)
    }
}
