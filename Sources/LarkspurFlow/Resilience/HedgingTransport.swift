/// A transport that sends a slow request a second time, and takes the answer that comes first.
///
///     Session(transport: HedgingTransport(CurlTransport(), after: .percentile(0.95), atMost: 0.05))
///
/// Only requests with an idempotent method and a body that can be sent again are sent twice: never a WebSocket, a
/// stream as a body, or a POST. The second request is sent if no head has arrived after the delay. The first head
/// decides, and the other request is cancelled. If one of the two fails before, the other decides. The hop's
/// `metrics.hedge` describes the second request.
public final class HedgingTransport: TransportWrapper {
    /// The time after which a request is sent again.
    public struct Delay: Sendable, Hashable {
        enum Kind: Sendable, Hashable { case duration(Duration), percentile(Double) }
        let kind: Kind

        /// A fixed time.
        public static func duration(_ time: Duration) -> Delay { Delay(kind: .duration(max(.zero, time))) }

        /// The time within which this fraction of the origin's recent responses has begun, from 0.5 to 0.999. Nothing
        /// is sent again before an origin has had 20 responses.
        public static func percentile(_ fraction: Double) -> Delay {
            Delay(kind: .percentile(fraction.isNaN ? 0.95 : min(max(fraction, 0.5), 0.999)))
        }
    }

    /// The counts of a transport.
    public struct Statistics: Sendable, Hashable {
        /// The requests that might have been sent twice.
        public internal(set) var requests = 0
        /// The requests that were sent twice.
        public internal(set) var hedged = 0
        /// The second requests whose answer came first.
        public internal(set) var won = 0
    }

    private struct State {
        var statistics = Statistics()
        /// The second requests that the budget allows, in thousandths.
        var budget = 0
        var latencies: [RequestURL.Origin: Latencies] = [:]
    }

    // Immutable
    /// The transport that sends the requests.
    public let base: any Transport
    let clock: any Clock<Duration>
    private let delay: Delay
    private let deposit: Int

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    /// Creates a transport around another one.
    ///
    /// - Parameters:
    ///   - base: The transport that sends the requests.
    ///   - delay: The time after which a request is sent again.
    ///   - budget: The maximum fraction of requests that are sent twice, from 0 to 1; 0.05 by default.
    ///   - clock: The clock that measures the delay.
    public init(
        _ base: any Transport, after delay: Delay, atMost budget: Double = 0.05,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.base, self.delay, self.clock) = (base, delay, clock)
        deposit = budget.isNaN ? 0 : Int((min(max(budget, 0), 1) * 1_000).rounded())
    }

    /// The counts so far.
    public var statistics: Statistics { box.withLock { $0.statistics } }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        guard deposit > 0, Self.maySendTwice(request) else {
            return base.task(for: request, id: id, delegate: delegate)
        }
        return HedgedTask(request, id: id, delegate: delegate, transport: self)
    }

    private static func maySendTwice(_ request: TransportRequest) -> Bool {
        guard !request.upgrades, RetryPolicy.idempotentMethods.contains(HTTPMethod(rawValue: request.method)) else {
            return false
        }
        switch request.body {
        case .none, .data, .file: return true
        case .stream: return false
        }
    }

    /// Counts a request, and returns the time after which it is sent again; nil if it is not.
    func begin(_ origin: RequestURL.Origin) -> Duration? {
        box.withLock { state in
            state.statistics.requests += 1
            state.budget = min(state.budget + deposit, 10_000)
            switch delay.kind {
            case .duration(let time): return time
            case .percentile(let fraction): return state.latencies[origin]?.percentile(fraction)
            }
        }
    }

    /// Returns whether the budget allows a second request, and takes it from the budget.
    func withdraw() -> Bool {
        box.withLock { state in
            guard state.budget >= 1_000 else { return false }
            state.budget -= 1_000
            state.statistics.hedged += 1
            return true
        }
    }

    /// Undoes `withdraw()` for a second request that was not sent.
    func giveBack() {
        box.withLock { state in
            state.budget += 1_000
            state.statistics.hedged -= 1
        }
    }

    func record(_ latency: Duration, _ origin: RequestURL.Origin, isHedge: Bool) {
        box.withLock { state in
            if isHedge { state.statistics.won += 1 }
            guard case .percentile = delay.kind else { return }
            if state.latencies.count >= 1_024, state.latencies[origin] == nil { state.latencies = [:] }
            state.latencies[origin, default: Latencies()].add(latency)
        }
    }
}

/// The latest times until a head, of one origin.
struct Latencies: Sendable {
    static var minimum: Int { 20 }
    private static let limit = 128

    private var times: [Duration] = []
    private var next = 0
    private var sorted: [Duration]?

    mutating func add(_ time: Duration) {
        if times.count < Self.limit { times.append(time) } else { times[next] = time }
        next = (next + 1) % Self.limit
        sorted = nil
    }

    mutating func percentile(_ fraction: Double) -> Duration? {
        guard times.count >= Self.minimum else { return nil }
        let all = sorted ?? times.sorted()
        sorted = all
        return all[min(all.count - 1, Int(Double(all.count) * fraction))]
    }
}
