import Larkspur
internal import LarkspurAnnex

/// Middleware that shares the circuits of a `CircuitBreaker` with other processes.
///
///     configuration.middleware = [SharedCircuitBreaker(store)]
///
/// If the circuit of an origin opens by the outcomes of one process, it opens in all processes. After the pause, one of
/// them sends a probe, under a lease. If the probe succeeds, all circuits close; if it fails, all stay open for another
/// pause. If the process is killed, another one sends a probe after the lease has ended, which lasts for a pause.
///
/// While no circuit changes, the store is not used. Each process watches one value of the store, and stores changes in
/// a task. Only the request that is the probe waits for the store, at most for the `timeout`. While the store cannot be
/// used, the circuits of each process are its own.
///
/// The store has the origins of the latest 256 circuits that have opened or closed, and a lease for each origin that
/// was probed. It has nothing else of the requests.
/// The methods `open` and `close` of the ``breaker`` change the circuits of this process alone.
/// <doc:ManyProcesses> says what happens in each fault.
public final class SharedCircuitBreaker: RequestMiddleware {
    /// The breaker of this process, with the states of the circuits and their changes.
    public let breaker: CircuitBreaker

    private let store: any SharedStore
    private let name: String
    private let timeout: Duration
    private let clock: any Clock<Duration>
    private let watch: StopWatch
    private let wakeups: AsyncStream<Void>.Continuation
    let state = Guarded(SharedCircuits())

    /// The time after which an entry of the store without a change is removed.
    private var age: Duration { breaker.pause * 3 }

    /// Creates a breaker, and begins to watch the store.
    ///
    /// - Parameters:
    ///   - name: The name of the value in the store, and the beginning of the names of leases. Processes with equal
    ///     names share circuits.
    ///   - breaker: The breaker of this process. Those of all processes have the same settings.
    ///   - timeout: The maximum time for which a probe waits for the store; half a second by default.
    ///   - clock: The clock that measures the timeout.
    public init(
        _ store: any SharedStore, name: String = "circuits", breaker: CircuitBreaker = CircuitBreaker(),
        timeout: Duration = .milliseconds(500), clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.store, self.name, self.breaker) = (store, name, breaker)
        (self.timeout, self.clock, watch) = (timeout, clock, StopWatch(clock))
        let (stream, wakeups) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakeups = wakeups
        // Tasks of their own, which end with this object.
        let changes = Task { for await _ in store.changes(of: name) { wakeups.yield() } }
        wakeups.onTermination = { _ in changes.cancel() }
        Task { [weak self] in for await _ in stream { await self?.synchronise() } }
    }

    deinit { wakeups.finish() }

    // MARK: Middleware

    public func intercept(_ exchange: Exchange, next: Next) async throws -> ExchangeResponse {
        do {
            let response = try await breaker.intercept(exchange) { [self] exchange in
                guard breaker.state(of: exchange.request.url) == .halfOpen, await !mayProbe(exchange) else {
                    return try await next(exchange)
                }
                // Another process sends the probe. Meanwhile its outcome may have closed the circuit. The pause is
                // short, because the probe may be cancelled, and its process may be killed.
                if breaker.state(of: exchange.request.url) == .halfOpen {
                    breaker.open(exchange.request.url, for: breaker.pause / 8)
                }
                return try await breaker.intercept(exchange, next: next)
            }
            end(exchange, isRefused: false)
            return response
        } catch {
            end(exchange, isRefused: (error as? RequestError)?.code == .circuitOpen)
            throw error
        }
    }

    /// Returns whether this process sends probes: it has the lease, or the store does not answer. Probes that begin
    /// while the store is asked wait for the same answer.
    private func mayProbe(_ exchange: Exchange) async -> Bool {
        let (origin, now) = (exchange.request.url.origin, watch.elapsed)
        let answer = state.withLock { state in
            state.beginProbe(exchange.requestID, to: origin, at: now, pause: breaker.pause) { earlier in
                // A task of its own: the other probes wait for it too if this one is cancelled.
                Task { await askToProbe(origin, earlier) }
            }
        }
        return await answer.value
    }

    private func askToProbe(_ origin: RequestURL.Origin, _ earlier: StoreLease?) async -> Bool {
        do {
            // A lease that is taken after the timeout is not known here, and ends by itself.
            let lease: StoreLease? = try await Race.result(within: timeout, on: clock) {
                [store, name, pause = breaker.pause] in
                if let earlier, try await store.renew(earlier, for: pause) { return earlier }
                return try await store.takeLease("\(name):\(origin)", for: pause)
            }
            state.withLock { $0.endAsking(lease, for: origin) }
            return lease != nil
        } catch { return true }
    }

    private func end(_ exchange: Exchange, isRefused: Bool) {
        let (url, circuit) = (exchange.request.url, breaker.state(of: exchange.request.url))
        let (hasChange, lease) = state.withLock { state -> (Bool, StoreLease?) in
            if circuit == .closed { state.noteClosed(url.origin) }
            if state.isIdle, circuit == .closed || isRefused { return (false, nil) }
            return state.endRequest(exchange.requestID, to: url.origin, circuit, isRefused: isRefused)
        }
        if hasChange { wakeups.yield() }
        // A task of its own: the request does not wait for the store.
        if let lease { Task { [store] in try? await store.release(lease) } }
    }

    // MARK: The store

    /// Applies the changes of other processes, and stores those of this one. Runs once at a time.
    private func synchronise() async {
        let changes = state.withLock { $0.pending.mapValues(\.entry) }
        do {
            while true {
                let value = try await store.value(for: name)
                let entries = value.flatMap { try? JSONDecoder().decode([SharedCircuits.Entry].self, from: $0.data) }
                guard let changed = apply(Array((entries ?? []).suffix(SharedCircuits.limit))) else { return }
                let version = try await store.set(
                    JSONEncoder().encode(changed), for: name,
                    if: value.map { .isVersion($0.version) } ?? .isAbsent, lifetime: age, under: nil)
                if version != nil, receive(changed, isOwn: true) == nil { return }
            }
        } catch {
            // An old change must not be stored later. The next probe tells the others of the state then.
            state.withLock { $0.drop(changes) }
        }
    }

    /// Changes the circuits that other processes have changed. Returns the entries to store.
    private func apply(_ entries: [SharedCircuits.Entry]) -> [SharedCircuits.Entry]? {
        // The circuits change first: a request that ends meanwhile must not see the old circuit and the new entry.
        for entry in state.withLock({ $0.news(in: entries) }) {
            if entry.isOpen { breaker.open(entry.origin) } else { breaker.close(entry.origin) }
        }
        return receive(entries, isOwn: false)
    }

    private func receive(_ entries: [SharedCircuits.Entry], isOwn: Bool) -> [SharedCircuits.Entry]? {
        let now = watch.elapsed
        return state.withLock { state in
            if isOwn { state.didStore(entries) }
            return state.receive(entries, at: now, keeping: age)
        }
    }
}
