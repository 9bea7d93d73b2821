/// One try at the exchange: built and adapted anew, one hop or several.
public struct Attempt: Sendable {
    /// What was built and adapted; nil if that failed.
    public internal(set) var request: OutgoingRequest?
    /// The hops in order: the first request, then one for each redirect that was followed.
    public var hops: [Hop] { first.map { [$0] + later } ?? [] }
    /// Kept apart from those after it, because most attempts have only this one.
    private var first: Hop?
    private var later: [Hop] = []
    /// Why the attempt failed; nil while it is under way or if it did not.
    public internal(set) var error: RequestError?
    /// How long was waited before the next attempt, if there was one.
    public internal(set) var delay: Duration?

    /// How many response gates have let the response pass.
    var passedGates = 0

    /// The head of the last hop's response.
    public var head: ResponseHead? { lastHop?.head }
    /// The last hop's metrics.
    public var metrics: TransportMetrics? { lastHop?.metrics }

    var lastHop: Hop? { later.last ?? first }

    mutating func append(_ hop: Hop) {
        if first == nil { first = hop } else { later.append(hop) }
    }
}

/// One request sent and what came back for it. Immutable, and shared by everybody who looks at it.
public final class Hop: Sendable {
    /// What was sent.
    public let request: OutgoingRequest
    /// Nil if there was no response.
    public let head: ResponseHead?
    /// Nil if the transport measured nothing.
    public let metrics: TransportMetrics?
    /// Why the hop failed, if it did.
    public let error: TransportError?

    package init(
        request: OutgoingRequest, head: ResponseHead? = nil, metrics: TransportMetrics? = nil,
        error: TransportError? = nil
    ) {
        self.request = request
        self.head = head
        self.metrics = metrics
        self.error = error
    }
}
