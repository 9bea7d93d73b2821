extension RequestState {
    /// The latest hop: the response of middleware if there is one, otherwise the hop in flight, otherwise the last
    /// ended hop.
    var lastHop: Hop? {
        if let answer { return answer }
        if let hop { return Hop(request: hop.request, head: hop.head, metrics: hop.metrics) }
        return attempt?.hops.last ?? attempts.last { !$0.hops.isEmpty }?.hops.last
    }

    /// The hops of all attempts, including the hop in flight.
    var allHops: [Hop] {
        attempts.flatMap(\.hops) + (hop.map { [Hop(request: $0.request, head: $0.head)] } ?? [])
    }
}
