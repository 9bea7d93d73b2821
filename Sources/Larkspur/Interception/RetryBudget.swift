/// How many retries a session allows itself, in proportion to what it sends: retries that follow every failure of a server
/// that is overloaded keep it so.
///
///     configuration.retryBudget = RetryBudget(ratio: 0.2)
///
/// Each first attempt of a request with a `RetryPolicy` deposits a part of a retry, each retry withdraws a whole one. The
/// requests of resumable uploads and the connections of event streams do the same: those that follow a failure are retries.
/// So that sessions which send little can retry at all, a few every second are free. Child sessions share their parent's budget
/// unless they are given another.
public struct RetryBudget: Sendable, Hashable {
    /// How much of a retry a first attempt allows; from 0 to 1000.
    public var ratio: Double
    /// How many retries each second are free; those that are not made are not saved up.
    public var minimumPerSecond: Int
    /// For how long a deposit can be used.
    public var lifetime: Duration

    /// A tenth of the requests, and ten retries each second, unless told otherwise.
    public init(ratio: Double = 0.1, minimumPerSecond: Int = 10, lifetime: Duration = .seconds(10)) {
        self.ratio = ratio
        self.minimumPerSecond = minimumPerSecond
        self.lifetime = lifetime
    }
}

/// A session's account of retries.
///
/// Deposits are kept in a few slots, each for a part of their lifetime, and leave with their slot. The account counts in
/// thousandths of a retry, so that ten tenths are one.
final class RetryAccount: Sendable {
    private static let slotCount = 10
    private static let whole = 1_000

    private struct Balance {
        /// The oldest first.
        var slots = [Int](repeating: 0, count: RetryAccount.slotCount)
        /// Which part of time the last slot is for.
        var period: Int64 = 0
        /// Until when the free ones are spent; each is for an equal part of a second.
        var spent = Duration.zero
    }

    // Immutable
    let budget: RetryBudget
    private let deposit: Int
    private let rate: Int
    private let slotLength: Duration
    private let elapsed: @Sendable () -> Duration

    // Guarded by the box
    private let balance: Protected<Balance>

    init(_ budget: RetryBudget, on clock: any Clock<Duration>) {
        self.budget = budget
        let ratio = budget.ratio.isFinite ? min(max(budget.ratio, 0), 1_000) : 0
        deposit = Int((ratio * Double(Self.whole)).rounded())
        rate = min(max(budget.minimumPerSecond, 0), 1_000_000)
        slotLength = max(budget.lifetime, .milliseconds(10)) / Self.slotCount
        elapsed = clock.stopwatch()
        balance = Protected(Balance())
    }

    /// A first attempt is made.
    func add() {
        let now = elapsed()
        balance.withLock { balance in
            expire(&balance, at: now)
            let last = Self.slotCount - 1
            balance.slots[last] = min(balance.slots[last] + deposit, .max / 2 / Self.slotCount)
        }
    }

    /// Asks for a retry; false if there is none left.
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

    /// Takes a whole retry, from what leaves first.
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
