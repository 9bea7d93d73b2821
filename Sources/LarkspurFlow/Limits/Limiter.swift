/// The admission that applies a session's `RequestLimits`.
package final class Limiter: HopAdmission {
    // Immutable
    let limits: RequestLimits

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    private struct State {
        var places: LimitState<PendingHop>
        /// Whether a thread admits the hops that wait. Another thread leaves them to it, so that a chain of hops that
        /// end at once cannot overflow the stack.
        var isAdvancing = false
    }

    package init(_ limits: RequestLimits) {
        self.limits = limits
        box = Protected(
            State(places: LimitState(total: limits.total, perHost: limits.perHost, queue: limits.queue)))
    }

    /// The numbers of hops that hold a place, and of those that wait.
    var counts: (running: Int, waiting: Int) { box.withLock { ($0.places.running, $0.places.waitingCount) } }

    package func admit(_ hop: PendingHop) {
        if let problem = limits.problem { return hop.refuse(TransportError(.invalidLimit, problem)) }
        guard !limits.exempt.contains(hop.kind) else { return _ = hop.admit() }
        let group = group(of: hop)
        switch box.withLock({ $0.places.arrive(hop, in: group, hop.priority) }) {
        case .admitted: grant(hop)
        case .queued: advance()
        case .overloaded:
            let text = "\(limits.queue ?? 0) requests wait already; RequestLimits.queue allows no more"
            hop.refuse(TransportError(.overloaded, text))
        }
    }

    package func withdraw(_ hop: PendingHop) {
        guard !limits.exempt.contains(hop.kind) else { return }
        _ = box.withLock { $0.places.withdraw(hop) }
    }

    package func release(_ hop: PendingHop) {
        guard !limits.exempt.contains(hop.kind) else { return }
        let group = group(of: hop)
        box.withLock { $0.places.release(group) }
    }

    /// Admits the hops that wait, as far as places are free.
    package func advance() {
        let begins = box.withLock { $0.places.waitingCount > 0 && $0.isAdvancing.setOnce() }
        guard begins else { return }
        while let hop = box.withLock({ Self.next(&$0) }) { grant(hop) }
    }

    private static func next(_ state: inout State) -> PendingHop? {
        let next = state.places.next()
        if next == nil { state.isAdvancing = false }
        return next
    }

    /// Admits a hop that has a place. If it has ended meanwhile, the place is free again.
    private func grant(_ hop: PendingHop) {
        guard !hop.admit() else { return }
        release(hop)
        advance()
    }

    /// The text of the origin, because hops to one origin share a limit. Without such a limit all hops are one group.
    private func group(of hop: PendingHop) -> String {
        limits.perHost == nil ? "" : String(hop.request.url.originText)
    }
}
