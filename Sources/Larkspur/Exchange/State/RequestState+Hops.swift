extension RequestState {
    /// The answer of middleware, or else the hop under way, or else the last one that ended.
    var lastHop: Hop? {
        if let answer { return answer }
        if let hop { return Hop(request: hop.request, head: hop.head, metrics: hop.metrics) }
        return attempt?.hops.last ?? attempts.last { !$0.hops.isEmpty }?.hops.last
    }

    var allHops: [Hop] {
        attempts.flatMap(\.hops) + (hop.map { [Hop(request: $0.request, head: $0.head)] } ?? [])
    }
}
