/// The way in which a request uses the session's cache.
///
///     session.request(url).cachePolicy(.preferCached(maxStale: .seconds(86_400)))
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum CachePolicy: Sendable, Hashable {
    /// Follows HTTP (RFC 9111): a fresh stored response is served without a request, and a stale one is validated. This
    /// is the default.
    case `protocol`
    /// Serves a stored response that is stale by at most this time, without a request. Otherwise like `.protocol`.
    case preferCached(maxStale: Duration)
    /// Asks the server whether the stored response is still valid, even if it is fresh.
    case revalidate
    /// Ignores stored responses, also those of caches between client and server. The new response is stored.
    case reload
    /// Serves a stored response, fresh or stale, and never sends a request. Without a stored response, the request
    /// fails with `.notCached`.
    case onlyCached
    /// Uses no cache: nothing is served from it, and the response is not stored.
    case bypass
}

/// The outcome of a cache for a request.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum CacheOutcome: Sendable, Hashable {
    /// The reason why a stale response was served.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum StaleReason: Sendable, Hashable {
        /// The request accepts a response that is stale by this time.
        case allowed
        /// The response is being validated in the background (`stale-while-revalidate`).
        case revalidating
        /// The server could not be asked, because of this failure (`stale-if-error`).
        case failed(TransportError.Code)
        /// The server answered with this status, which tells of a failure (`stale-if-error`).
        case status(Int)
    }

    /// No stored response could be used. The response came from the server.
    case miss
    /// The stored response is fresh. The age is the time since the server made or validated the response.
    case hit(age: Duration)
    /// The server said that the stored response is still valid.
    case revalidated
    /// The stored response is stale, and was served for this reason.
    case stale(because: StaleReason)
    /// The cache was not used, because the request did not allow it, or cannot be cached.
    case bypassed
    /// Stored responses cannot be read or written, for instance because the disk is full. The response came from the
    /// server. After a failure one request has this outcome, and the others have ``miss``.
    case unavailable(because: String)
}

extension CacheOutcome: CustomStringConvertible {
    /// A few words for logs: `hit, 3 s old`.
    public var description: String {
        switch self {
        case .miss: "miss"
        case .hit(let age): "hit, \(age.components.seconds) s old"
        case .revalidated: "revalidated"
        case .stale(.allowed): "stale, as allowed"
        case .stale(.revalidating): "stale, revalidated in the background"
        case .stale(.failed(let code)): "stale, because of \(code.rawValue)"
        case .stale(.status(let status)): "stale, because of status \(status)"
        case .bypassed: "bypassed"
        case .unavailable(let reason): "unavailable, \(reason)"
        }
    }
}

/// The instructions for a cache below the framework that are not part of the request itself.
package struct CacheInstructions: Sendable {
    package var policy = CachePolicy.protocol
    /// Whether an earlier attempt was not accepted. A stored response is then validated, because a retrier may have
    /// refused the stored response itself.
    package var isRepeated = false
    /// The name of the party that judges the server's certificates. Responses are never shared between two names.
    package var trust = ""
    /// The place for the stored response, if the framework decides whether it is kept; nil if it is always kept.
    package var draft: CacheDraftBox?
    /// Judges the peers of a validation in the background; nil if this is not possible without user code.
    package var judge: (@Sendable (PeerTrust) -> TrustDecision)?

    package init() {}
}

/// A response that the cache has received completely and not stored yet.
package protocol CacheDraft: Sendable {
    /// Stores the response. A head or a body that is given replaces the received one.
    func commit(head: ResponseHead?, body: Data?)
    /// Discards the response.
    func drop()
}

/// The place in which a cache leaves a draft for the framework, before the task's `.completed`.
package final class CacheDraftBox: Sendable {
    private let box = Protected<(any CacheDraft)?>(nil)

    package init() {}

    package func put(_ draft: any CacheDraft) { box.withLock { $0 = draft } }

    package func take() -> (any CacheDraft)? { box.withLock { $0.take() } }

    deinit { take()?.drop() }
}
