/// A request that waits for a lookup in the second level, and its first level.
protocol SecondLevelReader: AnyObject, Sendable {
    var key: CacheKey { get }
    var request: TransportRequest { get }
    /// Whether the request may be sent to the server, and its response stored.
    var mayShare: Bool { get }
    /// Whether the request waits for the right to ask the server. It does if its response may be stored, and if it may
    /// get the response that another process has stored meanwhile.
    var takesTurn: Bool { get }

    /// Returns whether a response is served without asking the server.
    func serves(_ stored: StoredHead, at now: Double) -> Bool

    /// Goes on after the lookup. Returns false if the request has ended meanwhile, or has gone on before.
    func endLooking(with answer: SharedAnswer?) -> Bool

    /// The store of the first level.
    var store: any CacheStore { get }
    /// A mark of the present time, for `isCurrent(since:)`.
    var mark: UInt64 { get }

    /// Returns whether no response of the URL was removed from the first level since the mark was made.
    func isCurrent(since mark: UInt64) -> Bool
}
