/// The maximum number of requests that a session sends at once. Further requests wait.
///
///     configuration.limits = RequestLimits(total: 256, perHost: 16)
///
/// A place is held for a hop: from the moment at which the request is handed to the transport until its response is
/// complete. A request that builds its next hop, waits for a new token or for a retry holds none. So a token refresh
/// inside a request never waits for that request. A redirect takes a place of its own host.
///
/// A request with a higher ``RequestPriority`` is served first, and requests of one priority in the order of their
/// arrival. A lower priority gets a place at the latest after ten requests of higher priorities have been served. A
/// session and its copies by ``Session/extending(_:)`` share their places if their limits are equal.
public struct RequestLimits: Sendable, Hashable {
    /// The maximum number of hops in flight to all hosts; nil means no limit.
    public var total: Int?
    /// The maximum number of hops in flight to each origin; nil means no limit.
    public var perHost: Int?
    /// The maximum number of hops that wait; nil means no limit. Further hops fail at once with `.overloaded`.
    public var queue: Int?
    /// The kinds of hops that take no place and never wait; WebSockets by default. A stream may last for hours, so
    /// add `.stream` if a session has many of them.
    public var exempt: Set<HopKind>

    /// Creates limits. With a limit below 1, or a queue below 0, every request fails with `.invalidLimit`.
    public init(total: Int? = nil, perHost: Int? = nil, queue: Int? = nil, exempt: Set<HopKind> = [.webSocket]) {
        (self.total, self.perHost, self.queue, self.exempt) = (total, perHost, queue, exempt)
    }

    /// The description of a limit that is not valid; nil if all are valid.
    var problem: String? {
        if let total, total < 1 { return "RequestLimits.total is \(total), but must be at least 1" }
        if let perHost, perHost < 1 { return "RequestLimits.perHost is \(perHost), but must be at least 1" }
        if let queue, queue < 0 { return "RequestLimits.queue is \(queue), but must be at least 0" }
        return nil
    }
}
