/// The cookies of a jar, and which of them stay and go, by RFC 6265bis, section 5.7. A value, without clock or lock.
struct CookieStore {
    static let limit = 3_000
    static let limitForDomain = 180

    private struct Entry {
        var cookie: Cookie
        /// Which of all it was when it was first set.
        var number: UInt64
        /// When it was set or sent last.
        var use: UInt64
    }

    /// By domain.
    private var entries: [String: [Entry]] = [:]
    private(set) var count = 0
    /// Counts on with everything that happens: clocks can stand still, and go back.
    private var turn: UInt64 = 0

    /// Cookies that were used last come last.
    init(_ cookies: [Cookie], at now: Date) {
        for cookie in cookies { set(cookie, at: now) }
        removeExcess(at: now)
    }

    // MARK: Setting and removing

    /// - Parameter mayReplaceSecure: False for a cookie that came in the open.
    /// - Returns: Whether that changed anything.
    @discardableResult
    mutating func set(_ cookie: Cookie, mayReplaceSecure: Bool = true, at now: Date) -> Bool {
        if !mayReplaceSecure, !cookie.isSecure, isInTheWayOfSecure(cookie, at: now) { return false }
        turn += 1
        var entry = Entry(cookie: cookie, number: turn, use: turn)
        let previous = entries[cookie.domain]?.first { $0.cookie.isSame(as: cookie) && !$0.cookie.isExpired(at: now) }
        if let previous {
            entry.cookie.creation = previous.cookie.creation
            entry.number = previous.number
        }
        change(cookie.domain) { entries in
            entries.removeAll { $0.cookie.isSame(as: cookie) }
            guard !cookie.isExpired(at: now) else { return }
            entries.append(entry)
            if entries.count > Self.limitForDomain { Self.removeLeast(of: &entries, at: now) }
        }
        return cookie.isExpired(at: now) ? previous != nil : previous?.cookie != entry.cookie
    }

    /// Whether there was such a cookie.
    mutating func remove(_ cookie: Cookie) -> Bool {
        let before = count
        change(cookie.domain) { $0.removeAll { $0.cookie.isSame(as: cookie) } }
        return count < before
    }

    private mutating func change(_ domain: String, _ body: (inout [Entry]) -> Void) {
        var changed = entries.removeValue(forKey: domain) ?? []
        count -= changed.count
        body(&changed)
        count += changed.count
        if !changed.isEmpty { entries[domain] = changed }
    }

    /// Whether a cookie that came in the open would replace, or stand before, one that came over TLS.
    private func isInTheWayOfSecure(_ cookie: Cookie, at now: Date) -> Bool {
        entries.contains { domain, entries in
            (Cookie.domain(domain, contains: cookie.domain) || Cookie.domain(cookie.domain, contains: domain))
                && entries.contains { entry in
                    entry.cookie.isSecure && !entry.cookie.isExpired(at: now)
                        && entry.cookie.seenName.elementsEqual(cookie.seenName)
                        && Cookie.path(entry.cookie.path, contains: cookie.path)
                }
        }
    }

    // MARK: Limits

    /// Of a domain that has too many goes one that has expired, else one that is not secure, else any: the one that was not
    /// used for the longest time.
    private static func removeLeast(of entries: inout [Entry], at now: Date) {
        func rank(_ entry: Entry) -> (Int, UInt64) {
            (entry.cookie.isExpired(at: now) ? 0 : entry.cookie.isSecure ? 2 : 1, entry.use)
        }
        if let least = entries.indices.min(by: { rank(entries[$0]) < rank(entries[$1]) }) { entries.remove(at: least) }
    }

    /// Where there are too many in all, those go that have expired, and then those that were not used for the longest time.
    mutating func removeExcess(at now: Date) {
        guard count > Self.limit else { return }
        for domain in Array(entries.keys) { change(domain) { $0.removeAll { $0.cookie.isExpired(at: now) } } }
        guard count > Self.limit else { return }
        let excess = entries.values.joined().sorted { $0.use < $1.use }.prefix(count - Self.limit)
        for entry in excess { _ = remove(entry.cookie) }
    }

    // MARK: Asking

    /// The cookies that are sent to this URL, in their order: those of longer paths first, then those that were set first.
    mutating func cookies(for url: RequestURL, at now: Date) -> [Cookie] {
        guard let host = url.host.map(String.init) else { return [] }
        turn += 1
        let turn = turn
        var found: [Entry] = []
        for domain in Self.domains(of: host) {
            change(domain) { entries in
                for index in entries.indices where entries[index].cookie.isFor(url, of: host, at: now) {
                    entries[index].use = turn
                    found.append(entries[index])
                }
            }
        }
        func order(_ entry: Entry) -> (Int, Date, UInt64) {
            (-entry.cookie.path.utf8.count, entry.cookie.creation, entry.number)
        }
        return found.sorted { order($0) < order($1) }.map(\.cookie)
    }

    /// The host and all that it is below.
    private static func domains(of host: String) -> [String] {
        guard !Cookie.isAddress(host) else { return [host] }
        return [host] + host.indices.filter { host[$0] == "." }.map { String(host[host.index(after: $0)...]) }
    }

    /// All that have not expired, those that were used last at the end.
    func all(at now: Date) -> [Cookie] {
        entries.values.joined().filter { !$0.cookie.isExpired(at: now) }
            .sorted { ($0.use, $0.number) < ($1.use, $1.number) }.map(\.cookie)
    }
}
