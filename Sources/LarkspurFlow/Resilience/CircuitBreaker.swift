/// Middleware that refuses requests to a server that has failed too often, so that it can recover.
///
///     configuration.middleware = [CircuitBreaker()]
///
/// Each origin has a circuit. While the circuit is closed, requests are sent, and their outcomes are counted. If too
/// many of them fail, the circuit opens: requests fail at once with `.circuitOpen`, and the error's underlying
/// ``CircuitOpen`` says when the server is tried again. After a pause, one request is sent as a probe. If it succeeds,
/// the circuit closes; if it fails, the circuit stays open for another pause.
///
/// Each attempt of a request counts. The circuit is that of the origin of the request's URL, also if the server
/// redirects the request to another origin. Middleware runs above the cache, so an open circuit also refuses requests
/// that the cache could answer. ``RetryPolicy`` does not retry `.circuitOpen`.
///
/// All sessions with this object share its circuits. The breaker measures time on the clock of the first of them,
/// and before its first request on the continuous clock.
public final class CircuitBreaker: RequestMiddleware {
    /// The state of one circuit.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum State: Sendable, Hashable {
        /// Requests are sent.
        case closed
        /// Requests are refused. The next probe is allowed after this time. After the pause the time is zero until the
        /// next request.
        case open(Duration)
        /// A probe is in flight or has just succeeded.
        case halfOpen
    }

    /// A change of a circuit.
    public struct Change: Sendable, Hashable {
        /// The origin of the circuit.
        public let origin: RequestURL.Origin
        /// The new state.
        public let state: State
    }

    /// The outcome of a request, as its circuit counts it.
    public enum Outcome: Sendable, Hashable, CaseIterable {
        /// The server has answered as it should.
        case success
        /// The server has failed.
        case failure
        /// The outcome tells nothing about the server, and does not count: the request was cancelled, for example.
        case neutral
    }

    /// Returns how the status or the error of a request counts.
    public typealias Judge = @Sendable (Result<Int, any Error>) -> Outcome

    private struct Circuits {
        var elapsed: @Sendable () -> Duration = ContinuousClock().stopwatch()
        /// Whether the time is that of a session's clock.
        var isBound = false
        var all: [RequestURL.Origin: BreakerState] = [:]
        var sweepAt = 256
        var changes = Broadcast<Change>()
    }

    // Immutable
    private let rule: BreakerRule
    private let judge: Judge

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(Circuits())

    /// Creates a breaker. Values outside of their ranges are changed to the nearest valid ones.
    ///
    /// - Parameters:
    ///   - failureRate: The fraction of failures from which a circuit opens, from 0.01 to 1; 0.5 by default.
    ///   - minimumCount: The number of outcomes in the window before which a circuit does not open; 10 by default.
    ///   - window: The time for which outcomes count; 30 seconds by default.
    ///   - pause: The time for which a circuit stays open before a probe; 10 seconds by default.
    ///   - probes: The number of probes that have to succeed before a circuit closes; 1 by default.
    ///   - judge: Returns how a status or an error counts. By default, the network failures of
    ///     ``RequestError/isConnectivity`` and the statuses 500, 502, 503 and 504 are failures, other statuses are
    ///     successes, and other errors do not count.
    public init(
        failureRate: Double = 0.5, minimumCount: Int = 10, window: Duration = .seconds(30),
        pause: Duration = .seconds(10), probes: Int = 1, judge: @escaping Judge = CircuitBreaker.standardJudge
    ) {
        rule = BreakerRule(
            failureRate: failureRate.isNaN ? 0.5 : min(max(failureRate, 0.01), 1), minimumCount: max(1, minimumCount),
            window: Self.valid(window), pause: Self.valid(pause), probes: max(1, probes))
        self.judge = judge
    }

    private static func valid(_ time: Duration) -> Duration { min(max(time, .milliseconds(10)), RetryAfter.longest) }

    /// The default judge: see ``init(failureRate:minimumCount:window:pause:probes:judge:)``.
    public static let standardJudge: Judge = { outcome in
        switch outcome {
        case .success(let status): return [500, 502, 503, 504].contains(status) ? .failure : .success
        case .failure(let error as RequestError): return error.isConnectivity ? .failure : .neutral
        case .failure(let error as TransportError):
            let isConnectivity = RequestError(wrapping: error, as: .connectionLost, stage: .sending).isConnectivity
            return isConnectivity ? .failure : .neutral
        case .failure: return .neutral
        }
    }

    // MARK: Circuits

    /// The time for which a circuit stays open before a probe.
    public var pause: Duration { rule.pause }

    /// Opens the circuit of a URL's origin as if it had failed, or prolongs its pause. A probe in flight no longer
    /// counts. The URL must be absolute: a relative URL has no circuit.
    ///
    /// - Parameter pause: The time before the next probe, from 10 milliseconds; the breaker's ``pause`` by default.
    public func open(_ url: any URLConvertible, for pause: Duration? = nil) {
        guard let origin = try? url.asRequestURL().origin else { return }
        let pause = pause.map(Self.valid) ?? rule.pause
        change(origin) { $0.open(until: $1 + pause) }
    }

    /// Closes the circuit of a URL's origin: requests are sent again, without a probe. The outcomes of requests that
    /// were sent before no longer count, unless the circuit is closed already.
    public func close(_ url: any URLConvertible) {
        guard let origin = try? url.asRequestURL().origin else { return }
        change(origin) { circuit, _ in circuit.close() }
    }

    // MARK: Observing

    /// Returns the state of the circuit of a URL's origin. The URL must be absolute: a relative URL has no circuit, and
    /// its state is `.closed`.
    public func state(of url: any URLConvertible) -> State {
        guard let origin = try? url.asRequestURL().origin else { return .closed }
        let now = now
        return box.withLock { $0.all[origin].map { State($0.phase, at: now) } ?? .closed }
    }

    /// The changes of all circuits from now on. Each stream gets all of them, and keeps the latest 100 if its reader is
    /// slow. The end of a pause is not a change: the next change is that of the next request.
    public var changes: AsyncStream<Change> {
        let (observer, stream) = Follower<Change>.make(.bufferingNewest(100))
        box.withLock { $0.changes.add(observer) }
        return stream
    }

    private var now: Duration { box.withLock { $0.elapsed }() }

    // MARK: Middleware

    public func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        let origin = exchange.request.url.origin
        bind(exchange.session.configuration.clock)
        let ticket = try admit(origin)
        do {
            let response = try await next(exchange)
            record(.success(response.head.status), origin, ticket)
            return response
        } catch {
            record(.failure(error), origin, ticket)
            throw error
        }
    }

    private func bind(_ clock: any Clock<Duration>) {
        guard !box.withLock({ $0.isBound }) else { return }
        let (earlier, elapsed) = (now, clock.stopwatch())
        box.withLock { circuits in
            guard !circuits.isBound else { return }
            circuits.elapsed = { earlier + elapsed() }
            circuits.isBound = true
        }
    }

    private func admit(_ origin: RequestURL.Origin) throws -> BreakerState.Ticket {
        let verdict = change(origin) { $0.admit(at: $1, rule) }
        switch verdict {
        case .send(let ticket): return ticket
        case .refuse(let wait):
            throw RequestError(
                .circuitOpen,
                "\(origin) has failed too often, so no request is sent to it; the next one is tried "
                    + (wait == .zero ? "after the probe that is in flight" : "in \(wait.readable)"),
                underlying: CircuitOpen(origin: origin, retryAfter: wait))
        }
    }

    private func record(_ outcome: Result<Int, any Error>, _ origin: RequestURL.Origin, _ ticket: BreakerState.Ticket) {
        let counted = judge(outcome)
        change(origin) { $0.record(counted, ticket, at: $1, rule) }
    }

    /// Changes a circuit, and tells the observers if its phase has changed.
    @discardableResult
    private func change<Value: Sendable>(
        _ origin: RequestURL.Origin, _ change: (inout BreakerState, Duration) -> Value
    ) -> Value {
        let now = now
        let value = box.withLock { circuits in
            var circuit = circuits.all[origin] ?? BreakerState()
            let before = State(circuit.phase, at: now)
            let value = change(&circuit, now)
            circuits.all[origin] = circuit
            let after = State(circuit.phase, at: now)
            sweep(&circuits, at: now)
            if before != after { circuits.changes.send(Change(origin: origin, state: after)) }
            return value
        }
        box.deliver(\.changes)
        return value
    }

    /// Forgets the circuits that have nothing to remember.
    private func sweep(_ circuits: inout Circuits, at now: Duration) {
        guard circuits.all.count >= circuits.sweepAt else { return }
        circuits.all = circuits.all.filter { !$0.value.isIdle(at: now, rule) }
        circuits.sweepAt = max(256, 2 * circuits.all.count)
    }
}

extension CircuitBreaker.State {
    fileprivate init(_ phase: BreakerState.Phase, at now: Duration) {
        switch phase {
        case .closed: self = .closed
        case .open(let end): self = .open(max(.zero, end - now))
        case .halfOpen: self = .halfOpen
        }
    }
}

/// The underlying error of `.circuitOpen`.
public struct CircuitOpen: Error, Sendable, Hashable {
    /// The origin whose circuit is open.
    public let origin: RequestURL.Origin
    /// The time until the next request is sent as a probe; zero if one is in flight.
    public let retryAfter: Duration

    /// Creates an error, for tests.
    public init(origin: RequestURL.Origin, retryAfter: Duration) {
        (self.origin, self.retryAfter) = (origin, retryAfter)
    }
}
