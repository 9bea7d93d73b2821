extension RequestState {
    /// The latest hop: the response of middleware if there is one, otherwise the hop in flight, otherwise the last
    /// ended hop.
    var lastHop: Hop? {
        if let answer { return answer }
        if let hop { return hop.soFar }
        return attempt?.hops.last ?? attempts.last { !$0.hops.isEmpty }?.hops.last
    }

    /// The error of the total timeout that has ended the request in a hop. Nil after other cancels, and if the hop was
    /// still waiting for its admission, because that tells nothing about the server.
    var timeoutOfHop: RequestError? {
        guard let cancellation, cancellation.isTimeout, !wasWaiting else { return nil }
        return cancellation
    }

    /// The actions that follow the beginning of a hop, after unlocking.
    struct HopBeginning: Sendable {
        let verdict: RequestPhase.Verdict
        let followers: [Follower<OutgoingRequest>]
        let step: PaceStep?
    }

    /// Begins a hop, unless the request was cancelled.
    ///
    /// - Parameter sent: The request as it is sent, with the fields of this hop.
    mutating func begin(_ hop: HopProgress, sending sent: OutgoingRequest) -> HopBeginning {
        hop.number = (attempt?.hops.count ?? 0) + 1
        let verdict = beginHop(hop)
        let step = verdict == .proceed ? nextPaceStep(after: nil) : nil
        if verdict == .proceed { noteBeginning(of: sent) }
        return HopBeginning(
            verdict: verdict, followers: settings.content.followers.requests, step: step)
    }

    /// Whether the body of the last hop is still needed: the request was not cancelled, and the hop has not failed.
    var needsBody: Bool { cancellation == nil && ended?.hop?.error == nil }

    /// The hops of all attempts, including the hop in flight.
    var allHops: [Hop] {
        attempts.flatMap(\.hops) + (hop.map { [$0.soFar] } ?? [])
    }
}

extension HopProgress {
    /// Records the events of the transport that change nothing but the hop's record.
    func record(_ event: TransportEvent) {
        switch event {
        case .information(let head): informationalResponses.append(head)
        case .cache(let outcome): cache = outcome
        case .trailers(let fields): trailers = fields
        case .metrics(let metrics): self.metrics = metrics
        case .admission(let part): isWaiting = part == .waits
        case .waitsForNetwork, .head, .body, .bodySent, .completed: break
        }
    }

    /// The record of the hop in flight, without its end.
    fileprivate var soFar: Hop {
        Hop(
            request: request, number: number, head: head, metrics: metrics, cache: cache,
            informationalResponses: informationalResponses)
    }
}
