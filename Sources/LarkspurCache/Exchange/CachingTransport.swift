/// A transport that answers requests from a cache, and sends the others with another transport.
///
/// It stands below redirects, cookies and credentials, so each hop is cached by itself.
package final class CachingTransport: TransportWrapper {
    package let base: any Transport
    package let cache: HTTPCache
    package let partition: TransportPartition

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct State {
        var isInvalidated = false
        /// The tasks that wait, for the store or for `resume()` and `allow(upTo:)`, and not for the base.
        var waiting: [ObjectIdentifier: CachingTask] = [:]
    }

    /// The exchanges in flight that equal requests may join, guarded by a lock of its own.
    private let exchanges = Protected(ListedExchanges())

    package init(_ base: any Transport, cache: HTTPCache) {
        self.base = base
        self.cache = cache
        partition = base.partition
    }

    package func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        if request.upgrades, request.cache?.policy != .onlyCached {
            return base.task(for: request, id: id, delegate: delegate)
        }
        return CachingTask(request, id: id, delegate: delegate, transport: self)
    }

    package func invalidate() {
        let waiting = box.withLock { state in
            state.isInvalidated = true
            return Array(state.waiting.values)
        }
        base.invalidate()
        for task in waiting { task.end(TransportError(.invalidated, "the transport was invalidated")) }
    }

    var isInvalidated: Bool { box.withLock { $0.isInvalidated } }

    /// Keeps a task in the list of those that `invalidate()` has to end. Returns false if the transport is invalidated.
    func keep(_ task: CachingTask) -> Bool {
        box.withLock { state in
            if !state.isInvalidated { state.waiting[ObjectIdentifier(task)] = task }
            return !state.isInvalidated
        }
    }

    func forget(_ task: CachingTask) {
        _ = box.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(task)) }
    }

    /// A mark of the present time, which a task takes before it looks in the store.
    var listMark: UInt64 { exchanges.withLock { $0.ended } }

    /// Lists an exchange, so that equal requests can join it.
    ///
    /// - Parameter mark: The mark from before the task looked in the store; nil if it does not look again.
    func list(_ exchange: SharedExchange, since mark: UInt64?) -> ListedExchanges.Listing {
        exchanges.withLock { $0.list(exchange, since: mark) }
    }

    /// Returns whether equal requests can join an exchange in flight.
    func isListed(_ key: CacheKey) -> Bool { exchanges.withLock { $0.listed[key] != nil } }

    /// Keeps further requests from joining the exchange.
    ///
    /// - Parameter isStored: Whether the store has the exchange's response by now.
    func unlist(_ exchange: SharedExchange, isStored: Bool = false) {
        _ = exchanges.withLock { $0.unlist(exchange, isStored: isStored) }
    }

    /// Validates a stored response that was served stale, in the background. At most one such request of a response is
    /// in flight.
    func refresh(_ stored: StoredResponse, _ request: TransportRequest, _ key: CacheKey) {
        let instructions = request.cache ?? CacheInstructions()
        guard !request.asksForTrust || instructions.judge != nil, !request.asksForIdentity else { return }
        let name =
            key.url + "\n" + key.partition + "\n"
            + stored.head.selection.values.map { $0 ?? "" }.joined(separator: "\n")
        guard cache.beginsRefresh(name) else { return }
        var request = request
        request.initialAllowance = .max
        request.cache = CacheInstructions()
        request.cache?.policy = .revalidate
        request.cache?.trust = instructions.trust
        let owner = RefreshOwner(judge: instructions.judge) { [cache] in cache.endRefresh(name) }
        // The validation of a part would not renew the stored response.
        request.fields.removeAll { field in ["Range", "If-Range"].contains { HTTPHeaders.areEqual($0, field.name) } }
        CachingTask(request, id: TransportTaskID(0), delegate: owner, transport: self, isInBackground: true).resume()
    }
}

/// The receiver of a validation in the background.
private final class RefreshOwner: TransportDelegate {
    private let judge: (@Sendable (PeerTrust) -> TrustDecision)?
    private let ended: @Sendable () -> Void

    init(judge: (@Sendable (PeerTrust) -> TrustDecision)?, ended: @escaping @Sendable () -> Void) {
        (self.judge, self.ended) = (judge, ended)
    }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        if case .completed = event { ended() }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        if case .serverTrust(let peer, let reply) = question, let judge { reply(judge(peer)) }
    }
}
