import Larkspur
internal import LarkspurAnnex

/// The requests in flight of a recorder.
final class HARCollector: Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: HARExchange] = [:]
        var isClosed = false
        /// The callers that wait for the last events of requests.
        var waiters: [(requests: Set<ObjectIdentifier>, continuation: CheckedContinuation<Void, Never>)] = []

        /// Removes a request, and returns the callers that have no other request to wait for. The exchange is released
        /// outside of the lock, because it may have the last reference to its request.
        mutating func remove(
            _ request: ObjectIdentifier
        ) -> (exchange: HARExchange?, waiters: [CheckedContinuation<Void, Never>]) {
            guard !isClosed else { return (nil, []) }
            let exchange = exchanges.removeValue(forKey: request)
            guard !waiters.isEmpty else { return (exchange, []) }
            for index in waiters.indices { waiters[index].requests.remove(request) }
            defer { waiters.removeAll { $0.requests.isEmpty } }
            return (exchange, waiters.filter(\.requests.isEmpty).map(\.continuation))
        }
    }

    private let bodyLimit: Int
    private let state = Guarded(State())

    init(bodyLimit: Int) { self.bodyLimit = bodyLimit }

    /// Takes an event. Returns the hop that ends with the event.
    func receive(_ event: RequestEvent, of request: any Request) -> HARExchange.Ended? {
        let key = ObjectIdentifier(request)
        if case .finish = event {
            for waiter in state.withLock({ $0.remove(key) }).waiters { waiter.resume() }
            return nil
        }
        return state.withLock { state in
            guard !state.isClosed else { return nil }
            guard let exchange = state.exchanges[key] else {
                switch event {
                case .start, .create, .beginHop:
                    let exchange = HARExchange(request, bodyLimit: bodyLimit)
                    exchange.receive(event)
                    state.exchanges[key] = exchange
                default: break
                }
                return nil
            }
            if case .endHop = event { return exchange.endHop() }
            exchange.receive(event)
            return nil
        }
    }

    /// Waits for the last events of requests that have finished. The thread that delivers them may be late.
    func waitForFinishedRequests() async {
        let requests = state.withLock { $0.exchanges.values.map(\.request) }
        let finished = Set(requests.filter { $0.status == .finished }.map { ObjectIdentifier($0) })
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                // After `close` there is no exchange left.
                let open = finished.intersection(state.exchanges.keys)
                if !open.isEmpty { state.waiters.append((open, continuation)) }
                return open.isEmpty
            }
            if isOver { continuation.resume() }
        }
        // Until here no other request can have the identifier of one of these.
        withExtendedLifetime(requests) {}
    }

    /// The hops in flight, as if they ended now.
    var hops: [HARExchange.Ended] { state.withLock { $0.exchanges.values.compactMap(\.endedHop) } }

    /// Returns the hops in flight, as if they ended now, and ignores all further events.
    func close() -> [HARExchange.Ended] {
        let (exchanges, open, waiters) = state.withLock { state in
            state.isClosed = true
            // The events for which these callers wait are ignored from now on.
            defer { (state.exchanges, state.waiters) = ([:], []) }
            let exchanges = state.exchanges
            return (exchanges, exchanges.values.compactMap(\.endedHop), state.waiters.map(\.continuation))
        }
        for waiter in waiters { waiter.resume() }
        withExtendedLifetime(exchanges) {}  // they are released outside of the lock
        return open
    }
}
