/// Distributes the reports of one source to any number of subscribers. It watches the source while it has subscribers.
///
/// Subscribers get signals without values, and read the status themselves. So a slow subscriber misses old statuses
/// instead of storing them, and no subscriber gets an old status after a newer one.
final class NetworkFeed: Sendable {
    /// The feed of all monitors that observe the system.
    static let system = NetworkFeed(SystemNetworkSource())

    private struct Subscriber {
        let signal: AsyncStream<Void>.Continuation
        /// The monitor whose end ends the subscription; nil if there is none.
        let owner: Int?
    }

    private struct Watch {
        let id: Int
        var status: NetworkStatus
        /// Nil until the source has begun to report.
        var cancel: NetworkSource.Cancel?
    }

    private struct State {
        var lastID = 0
        var owners: Set<Int> = []
        var subscribers: [Int: Subscriber] = [:]
        /// Nil while there are no subscribers.
        var watch: Watch?

        mutating func makeID() -> Int {
            lastID += 1
            return lastID
        }

        /// Ends the watch if no subscriber is left. Call the result after unlocking.
        mutating func endUnusedWatch() -> NetworkSource.Cancel? {
            guard subscribers.isEmpty else { return nil }
            defer { watch = nil }
            return watch?.cancel
        }
    }

    let source: any NetworkSource
    private let box = Protected(State())

    init(_ source: any NetworkSource) { self.source = source }

    var status: NetworkStatus { box.withLock { $0.watch?.status } ?? source.status() }

    /// The number of subscribers.
    var subscriberCount: Int { box.withLock { $0.subscribers.count } }

    // MARK: Subscribers

    /// Returns the identifier of a new monitor, for its subscriptions.
    func addOwner() -> Int {
        box.withLock { state in
            let id = state.makeID()
            state.owners.insert(id)
            return id
        }
    }

    /// Ends the subscriptions of a monitor.
    func end(_ owner: Int) {
        let (ended, cancel) = box.withLock { state in
            state.owners.remove(owner)
            let ended = state.subscribers.filter { $0.value.owner == owner }
            for id in ended.keys { state.subscribers[id] = nil }
            return (ended, state.endUnusedWatch())
        }
        for subscriber in ended.values { subscriber.signal.finish() }
        cancel?()
    }

    /// Returns a subscription, which is signalled at once and then after each report.
    func subscribe(for owner: Int? = nil) -> NetworkSubscription {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let current = status
        let (id, isAdded, needsWatch) = box.withLock { state in
            let id = state.makeID()
            guard owner.map(state.owners.contains) ?? true else { return (id, false, false) }
            state.subscribers[id] = Subscriber(signal: signal, owner: owner)
            guard state.watch == nil else { return (id, true, false) }
            state.watch = Watch(id: id, status: current)
            return (id, true, true)
        }
        if isAdded { signal.yield() } else { signal.finish() }
        if needsWatch { start(id) }
        return NetworkSubscription(to: self, id, signals, signal)
    }

    func unsubscribe(_ id: Int) {
        let (subscriber, cancel) = box.withLock { state in
            let subscriber = state.subscribers.removeValue(forKey: id)
            return (subscriber, state.endUnusedWatch())
        }
        subscriber?.signal.finish()
        cancel?()
    }

    // MARK: Reports

    private func start(_ watch: Int) {
        let cancel = source.watch { [weak self] status in self?.receive(status, from: watch) }
        let isUsed = box.withLock { state in
            guard state.watch?.id == watch else { return false }
            state.watch?.cancel = cancel
            return true
        }
        // The last subscriber has left meanwhile.
        if !isUsed { cancel() }
    }

    /// Signals all subscribers, also if the status is the same: a route to a single host may have changed.
    private func receive(_ status: NetworkStatus, from watch: Int) {
        let subscribers = box.withLock { state in
            guard state.watch?.id == watch else { return [Subscriber]() }
            state.watch?.status = status
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.signal.yield() }
    }
}

/// A subscription to a feed, for one reader. Its release ends it.
final class NetworkSubscription: Sendable {
    private let feed: NetworkFeed
    private let id: Int
    private let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let last = Protected<NetworkStatus?>(nil)

    init(to feed: NetworkFeed, _ id: Int, _ signals: AsyncStream<Void>, _ signal: AsyncStream<Void>.Continuation) {
        (self.feed, self.id, self.signals, continuation) = (feed, id, signals, signal)
    }

    deinit { feed.unsubscribe(id) }

    /// Waits for the next signal; returns false if the subscription has ended or the task is cancelled.
    func signalled() async -> Bool {
        var signals = signals.makeAsyncIterator()
        return await signals.next() != nil
    }

    /// Waits for a status that differs from the last one; returns nil at the end.
    func nextStatus() async -> NetworkStatus? {
        while await signalled() {
            let status = feed.status
            let isNew = last.withLock { last in
                defer { last = status }
                return last != status
            }
            if isNew { return status }
        }
        return nil
    }

    func signal() { continuation.yield() }

    func end() { feed.unsubscribe(id) }
}

extension NetworkFeed {
    enum WaitResult: Sendable { case reachable, timedOut, cancelled }

    /// The longest wait for the lookup of a name.
    private static let lookupLimit = Duration.seconds(10)
    /// The delays between lookups while the network is reachable: a name server may answer later than the first route
    /// appears, and no event reports that.
    private static let delays = (first: Duration.seconds(1), longest: Duration.seconds(30))

    /// Waits until a condition is met. It is checked at once, on each report, and after delays.
    ///
    /// - Parameters:
    ///   - clock: The clock of the limit and the delays.
    ///   - host: The host whose route the condition gets; nil if it needs none.
    ///   - limit: The maximum wait; nil for no limit.
    func wait(
        on clock: any Clock<Duration>, host: String?, within limit: Duration? = nil,
        until isMet: @Sendable (HostRoute?, NetworkStatus) -> Bool
    ) async -> WaitResult {
        // Without a host and if the network is reachable, no thread is started.
        if host == nil, isMet(nil, status) { return .reachable }
        let limit = limit.map { min(max(.zero, $0), RetryAfter.longest) }
        let elapsed = clock.stopwatch()
        let subscription = subscribe()
        let timeout = limit.map { limit in DeadlineTimer(on: clock, after: { limit }) { subscription.end() } }
        var nextCheck: DeadlineTimer?
        defer {
            timeout?.cancel()
            nextCheck?.cancel()
            // A timer that is being cancelled may still hold the subscription.
            subscription.end()
        }
        var delay = Self.delays.first
        while await subscription.signalled() {
            nextCheck?.cancel()
            nextCheck = nil
            let left = limit.map { max(.zero, $0 - elapsed()) } ?? Self.lookupLimit
            if isMet(await route(to: host, within: min(left, Self.lookupLimit)), status) { return .reachable }
            guard status.isReachable else { continue }
            nextCheck = DeadlineTimer(on: clock, after: { [delay] in delay }) { subscription.signal() }
            delay = min(delay * 2, Self.delays.longest)
        }
        return Task.isCancelled ? .cancelled : .timedOut
    }

    func route(to host: String?, within limit: Duration = lookupLimit) async -> HostRoute? {
        guard let host else { return nil }
        return await source.route(to: host, within: limit)
    }
}
