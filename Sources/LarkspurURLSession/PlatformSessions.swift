/// The platform's sessions of a transport.
///
/// `URLSession` judges the trust of a server only when it opens a connection. It also uses one HTTP/2 connection for
/// several hosts with the same certificate. Requests with their own trust evaluation therefore use a session for each
/// delegate, host and port, so that each connection was judged by the evaluators of the request that uses it.
struct PlatformSessions {
    /// The requests for which a session is used.
    enum Use {
        /// Requests without trust evaluation. On Apple's platforms each delegate has its own session, because the
        /// delegate also chooses the client identity of a connection.
        case plain(any TransportDelegate)
        /// Requests whose peer the delegate judges. A new generation means that it has forgotten its verdicts.
        case judged(any TransportDelegate, host: String, port: Int, generation: UInt64)
    }

    /// The maximum number of sessions that are kept. Sessions beyond it end when their requests have ended.
    private static let limit = 64

    private struct Key: Hashable {
        let delegate: ObjectIdentifier?
        var host = ""
        var port = 0
        var generation: UInt64 = 0

        /// Whether requests with the other key no longer use this one's connections.
        func isOlder(than other: Key) -> Bool {
            (delegate, host, port) == (other.delegate, other.host, other.port) && generation < other.generation
        }
    }

    private final class Entry {
        let session: PlatformSession
        /// The delegate, unless the session is for every delegate. The identifier of a released object may be given to
        /// another object.
        weak var delegate: (any TransportDelegate)?
        let hasDelegate: Bool

        init(_ session: PlatformSession, _ delegate: (any TransportDelegate)?) {
            self.session = session
            self.delegate = delegate
            hasDelegate = delegate != nil
        }

        var isStale: Bool { hasDelegate && delegate == nil }
    }

    private var entries: [Key: Entry] = [:]
    /// The keys in the order of their last use.
    private var order: [Key] = []

    /// Returns the session for the use, and sessions that are no longer needed.
    mutating func session(for use: Use, _ template: SessionTemplate) -> (PlatformSession, [PlatformSession]) {
        let key: Key
        let owner: (any TransportDelegate)?
        switch use {
        case .plain(let delegate):
            #if canImport(Darwin)
                (key, owner) = (Key(delegate: ObjectIdentifier(delegate)), delegate)
            #else
                _ = delegate
                (key, owner) = (Key(delegate: nil), nil)
            #endif
        case .judged(let delegate, let host, let port, let generation):
            key = Key(delegate: ObjectIdentifier(delegate), host: host, port: port, generation: generation)
            owner = delegate
        }
        var superseded = remove { $0.isOlder(than: key) || $1.isStale }
        if order.last != key {
            order.removeAll { $0 == key }
            order.append(key)
        }
        if let entry = entries[key] { return (entry.session, superseded) }
        if order.count > Self.limit, let oldest = entries.removeValue(forKey: order.removeFirst()) {
            superseded.append(oldest.session)
        }
        let session = PlatformSession(template)
        entries[key] = Entry(session, owner)
        return (session, superseded)
    }

    mutating func removeAll() -> [PlatformSession] {
        defer { (entries, order) = ([:], []) }
        return entries.values.map(\.session)
    }

    private mutating func remove(where isRemoved: (Key, Entry) -> Bool) -> [PlatformSession] {
        let removed = entries.filter(isRemoved)
        guard !removed.isEmpty else { return [] }
        for key in removed.keys { entries[key] = nil }
        order.removeAll { removed[$0] != nil }
        return removed.values.map(\.session)
    }
}

/// A `URLSession` together with its delegate.
final class PlatformSession: Sendable {
    private let events = URLSessionEvents()
    private let session: URLSession
    private let isJudged = Protected(false)

    init(_ template: SessionTemplate) { session = template.makeSession(events) }

    /// Whether the peer of one of the session's connections was judged and accepted.
    var hasJudged: Bool { isJudged.withLock { $0 } }

    func didJudge() { isJudged.withLock { $0 = true } }

    /// Creates the platform's task, whose events go to the hop. The task has not started.
    func task(for request: URLRequest, file: String?, _ hop: URLSessionHop) -> URLSessionTask {
        let task =
            file.map { session.uploadTask(with: request, fromFile: URL(fileURLWithPath: $0)) }
            ?? session.dataTask(with: request)
        events.add(hop, for: task)
        return task
    }

    #if canImport(Darwin)
        /// Creates the platform's WebSocket, whose events go to the hop. The task has not started.
        func socket(
            for request: URLRequest, maximumMessageSize: Int, _ hop: URLSessionHop
        ) -> any PlatformSocket {
            let task = session.webSocketTask(with: request)
            task.maximumMessageSize = maximumMessageSize
            events.add(hop, for: task)
            return task
        }
    #endif

    /// Ends the session when its tasks have ended. Until then `URLSession` keeps its delegate.
    ///
    /// Nothing else ends the session: the system ends the process if a task is created in an invalidated session. A
    /// thread that creates a task holds this object meanwhile.
    deinit { session.finishTasksAndInvalidate() }
}
