/// One try of an exchange. Each attempt builds and adapts its request, and has one or more hops.
public struct Attempt: Sendable {
    /// The request after building and adapting; nil if one of the two failed.
    public internal(set) var request: OutgoingRequest?
    /// The hops in order: the first request, then one for each redirect or answered challenge.
    public var hops: [Hop] { first.map { [$0] + later } ?? [] }
    /// The first hop. It is stored outside of `later`, because most attempts have only this hop and then need no array.
    private var first: Hop?
    private var later: [Hop] = []
    /// The reason why the attempt failed; nil if it succeeded or is running.
    public internal(set) var error: RequestError?
    /// The wait before the next attempt; nil for the last attempt.
    public internal(set) var delay: Duration?

    /// The number of response gates that have accepted the response.
    var passedGates = 0

    /// The response head of the last hop.
    public var head: ResponseHead? { lastHop?.head }
    /// The metrics of the last hop.
    public var metrics: TransportMetrics? { lastHop?.metrics }

    package var lastHop: Hop? { later.last ?? first }

    mutating func append(_ hop: Hop) {
        if first == nil { first = hop } else { later.append(hop) }
    }
}

/// The attempts of a request before the current one. A WebSocket may connect again for months, so only the latest
/// attempts are kept.
struct EarlierAttempts {
    private static let limit = 100

    private(set) var kept: [Attempt] = []
    private(set) var count = 0

    mutating func append(_ attempt: Attempt) {
        count += 1
        kept.append(attempt)
        if kept.count > Self.limit { kept.removeFirst() }
    }
}

extension Attempt: CustomStringConvertible {
    /// One line for logs: the hops, the error and the wait before the next attempt.
    public var description: String {
        var parts = [hops.isEmpty ? "no request was sent" : hops.map(\.description).joined(separator: ", then ")]
        if let error { parts.append("\(error)") }
        if let delay { parts.append("next attempt after \(delay.readable)") }
        return parts.joined(separator: "; ")
    }
}

extension Hop: CustomStringConvertible {
    /// The request's method and URL without query, and the status: `GET https://example.com/a (200)`.
    public var description: String { "\(request)\(head.map { " (\($0.status))" } ?? "")" }
}

/// One request on the wire and its response. A hop does not change.
public final class Hop: Sendable {
    /// The request that was sent.
    public let request: OutgoingRequest
    /// The head of the response; nil without a response.
    public let head: ResponseHead?
    /// The metrics of the hop; nil if the transport measured nothing.
    public let metrics: TransportMetrics?
    /// The outcome of the session's cache for the hop; nil without a cache or a response.
    public let cache: CacheOutcome?
    /// The place of the response that the cache has not stored yet; nil if no handler decides about it.
    let draft: CacheDraftBox?
    /// The heads of the interim responses that came before the response, such as 103. 100 is not among them.
    public let informationalResponses: [ResponseHead]
    /// The fields that the server sent after the body; nil if there were none. They are not part of the head.
    public let trailers: HTTPHeaders?
    /// The reason why the hop failed; nil if it succeeded.
    public let error: TransportError?
    /// The number of the hop in its attempt, starting at 1.
    let number: Int

    package init(
        request: OutgoingRequest, number: Int = 1, head: ResponseHead? = nil, metrics: TransportMetrics? = nil,
        cache: CacheOutcome? = nil, draft: CacheDraftBox? = nil, informationalResponses: [ResponseHead] = [],
        trailers: HTTPHeaders? = nil, error: TransportError? = nil
    ) {
        self.request = request
        self.number = number
        self.head = head
        self.metrics = metrics
        self.cache = cache
        self.draft = draft
        self.informationalResponses = informationalResponses
        self.trailers = trailers
        self.error = error
    }
}
