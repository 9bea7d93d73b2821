/// A limit on the number of hops in a time, which also obeys the limits that servers announce.
///
///     configuration.rateLimit = RateLimiter(.perHost, 100, per: .seconds(1), burst: 20)
///
/// Each hop takes a token from a bucket, and waits until the bucket has one. The bucket gains tokens at an even rate
/// and holds at most `burst` of them. A higher ``RequestPriority`` is served first; a lower one at the latest after
/// ten hops of higher ones. A response from the session's cache takes no token.
///
/// If a response has `Retry-After` (with the status 429 or 503), `RateLimit`, `RateLimit-Policy` or `X-RateLimit-…`,
/// all hops of its bucket slow down, also those that wait already. A hop that could not be sent before its total
/// timeout fails at once with `.rateLimited`.
///
/// All sessions with this object share its buckets. The limiter measures time on the clock of the first of them.
public final class RateLimiter: HopAdmission {
    /// The hops that share a bucket.
    public struct Scope: Sendable {
        enum Key: Hashable { case host(String), session(FlowOwner?), custom(String) }

        let key: @Sendable (PendingHop) -> Key?
        /// Whether the key comes from a closure of the user, which is called once for each hop.
        var isCustom = false

        /// Hops to one origin share a bucket.
        public static let perHost = Scope { .host(String($0.request.url.originText)) }
        /// Hops of one session share a bucket.
        public static let perSession = Scope { .session($0.request.flow?.session) }
        /// Hops for which the closure returns the same key share a bucket. Nil means that a hop takes no token. The
        /// closure is called on the request's thread, and must return at once.
        public static func by(_ key: @escaping @Sendable (TransportRequest) -> String?) -> Scope {
            Scope(key: { key($0.request).map(Key.custom) }, isCustom: true)
        }
    }

    private typealias Bucket = RateBucket<PendingHop>

    private struct State {
        var clock: (any Clock<Duration>)?
        var elapsed: (@Sendable () -> Duration)?
        var buckets: [Scope.Key: Bucket] = [:]
        /// The buckets with a timer that has not fired.
        var armed: Set<Scope.Key> = []
        var keys: [PendingHop: Scope.Key] = [:]
        var sweepAt = 256
    }

    // Immutable
    private let scope: Scope
    private let rule: RateRule
    private let problem: String?
    private let obeysServers: Bool
    private let maximumDelay: Duration

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    /// Creates a limiter. With a count, a time or a burst that is not positive, every request fails with
    /// `.invalidLimit`.
    ///
    /// - Parameters:
    ///   - scope: The hops that share a bucket.
    ///   - count: The number of hops that may be sent in `time`.
    ///   - time: The period of `count`, such as one second.
    ///   - burst: The maximum number of hops at once after a pause. Nil, the default, means `count`.
    ///   - obeysServers: Whether the limits that servers announce apply.
    ///   - maximumDelay: The longest delay that a server can demand; 5 minutes by default. A longer one is cut.
    public init(
        _ scope: Scope, _ count: Int, per time: Duration, burst: Int? = nil, obeysServers: Bool = true,
        maximumDelay: Duration = .seconds(300)
    ) {
        self.scope = scope
        self.obeysServers = obeysServers
        self.maximumDelay = min(max(.zero, maximumDelay), RetryAfter.longest)
        let burst = burst ?? count
        problem = Self.problem(count, time, burst)
        let time = min(time, RetryAfter.longest)
        rule = RateRule(interval: problem == nil ? time / count : .zero, burst: min(burst, 1_000_000))
    }

    private static func problem(_ count: Int, _ time: Duration, _ burst: Int) -> String? {
        if count < 1 { return "the count of the rate limit is \(count), but must be at least 1" }
        if time <= .zero { return "the time of the rate limit is \(time), but must be longer than zero" }
        if burst < 1 { return "the burst of the rate limit is \(burst), but must be at least 1" }
        return nil
    }

    /// Measures time on this clock, unless another one is set already.
    func bind(_ clock: any Clock<Duration>) {
        let elapsed = clock.stopwatch()
        box.withLock { state in
            guard state.clock == nil else { return }
            (state.clock, state.elapsed) = (clock, elapsed)
        }
    }

    /// The number of hops that wait.
    var waitingCount: Int { box.withLock { $0.buckets.values.reduce(0) { $0 + $1.waitingCount } } }

    private var now: Duration {
        if let elapsed = box.withLock({ $0.elapsed }) { return elapsed() }
        bind(ContinuousClock())
        return box.withLock { $0.elapsed }?() ?? .zero
    }

    // MARK: HopAdmission

    public func admit(_ hop: PendingHop) {
        if let problem { return hop.refuse(TransportError(.invalidLimit, problem)) }
        guard let key = scope.key(hop) else { return _ = hop.admit() }
        let now = now
        let arrival = box.withLock { state in
            Self.sweep(&state, now, rule)
            if scope.isCustom { state.keys[hop] = key }
            return state.buckets[key, default: Bucket()]
                .arrive(hop, hop.priority, deadline: hop.timeLeft.map { now + $0 }, at: now, rule)
        }
        switch arrival {
        case .admitted: grant(hop, key)
        case .queued: setTimer(for: key, now)
        case .late(let wait): hop.refuse(Self.tooLate(wait))
        }
    }

    /// Admits a hop that has a token. If it has ended meanwhile, the token goes back.
    private func grant(_ hop: PendingHop, _ key: Scope.Key) {
        if !hop.admit() { box.withLock { $0.buckets[key]?.giveBack(rule) } }
    }

    public func withdraw(_ hop: PendingHop) {
        guard let key = key(of: hop) else { return }
        _ = box.withLock { $0.buckets[key]?.withdraw(hop) }
        forgetKey(of: hop)
    }

    public func receive(_ head: ResponseHead, for hop: PendingHop) {
        guard obeysServers, let news = ServerRate(head), let key = key(of: hop) else { return }
        let now = now
        let late = box.withLock { state in
            state.buckets[key, default: Bucket()].learn(news.capped(at: maximumDelay), at: now, rule)
        }
        for (hop, wait) in late {
            forgetKey(of: hop)
            hop.refuse(Self.tooLate(wait))
        }
    }

    public func release(_ hop: PendingHop) { forgetKey(of: hop) }

    private func key(of hop: PendingHop) -> Scope.Key? {
        scope.isCustom ? box.withLock { $0.keys[hop] } : scope.key(hop)
    }

    private func forgetKey(of hop: PendingHop) {
        if scope.isCustom { _ = box.withLock { $0.keys.removeValue(forKey: hop) } }
    }

    private static func tooLate(_ wait: Duration) -> TransportError {
        let text = "the rate limit allows the request only after \(wait.readable), when its total timeout has passed"
        return TransportError(.rateLimited, text)
    }

    // MARK: Time

    /// Admits the hops of a bucket that may be sent now, and sets the timer for the next one.
    private func serve(_ key: Scope.Key) {
        _ = box.withLock { $0.armed.remove(key) }
        let now = now
        while let hop = box.withLock({ $0.buckets[key]?.next(at: now, rule) }) { grant(hop, key) }
        setTimer(for: key, now)
    }

    private func setTimer(for key: Scope.Key, _ now: Duration) {
        let (clock, time) = box.withLock { state -> ((any Clock<Duration>)?, Duration?) in
            guard !state.armed.contains(key), let time = state.buckets[key]?.nextTime(at: now, rule) else {
                return (nil, nil)
            }
            state.armed.insert(key)
            return (state.clock, time)
        }
        guard let clock, let time else { return }
        // The timer's closure reads the clock once more, because time passes until the timer starts. The timer is never
        // cancelled: a bucket without waiting hops ignores it.
        _ = DeadlineTimer(on: clock, after: { [weak self] in max(.zero, time - (self?.now ?? time)) }) {
            [weak self] in
            self?.serve(key)
        }
    }

    /// Removes buckets that are full and that no hop waits for.
    private static func sweep(_ state: inout State, _ now: Duration, _ rule: RateRule) {
        guard state.buckets.count >= state.sweepAt else { return }
        state.buckets = state.buckets.filter { !$0.value.isIdle(at: now, rule) }
        state.sweepAt = max(256, 2 * state.buckets.count)
    }
}
