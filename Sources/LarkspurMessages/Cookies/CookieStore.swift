/// The cookies of a ``CookieJar``, with the storage rules of RFC 6265bis, section 5.7. The store has neither a clock
/// nor a lock; the jar passes the time and locks the store.
struct CookieStore {
    static let limit = 3_000
    static let limitForDomain = 180

    private struct Entry {
        var cookie: Cookie
        /// The value of `turn` when the cookie was first set.
        var number: UInt64
        /// The value of `turn` when the cookie was last set or sent.
        var use: UInt64
    }

    /// The cookies, grouped by domain.
    private var entries: [String: [Entry]] = [:]
    private(set) var count = 0
    /// A logical clock that advances with every stored cookie and every lookup. Its values show which cookie is the
    /// least recently used. The system's time would not show this, because a system clock can stop and go back.
    private var turn: UInt64 = 0

    /// Creates a store with these cookies. The later a cookie is in the array, the more recently used it counts as.
    init(_ cookies: [Cookie], at now: Date) {
        for cookie in cookies { set(cookie, at: now) }
        removeExcess(at: now)
    }

    // MARK: Setting and removing

    /// - Parameter mayReplaceSecure: Whether the cookie may replace or shadow a secure cookie. False if the cookie was
    ///   not received over TLS.
    /// - Returns: Whether the store has changed.
    @discardableResult
    mutating func set(_ cookie: Cookie, mayReplaceSecure: Bool = true, at now: Date) -> Bool {
        if !mayReplaceSecure, !cookie.isSecure, shadowsSecureCookie(cookie, at: now) { return false }
        turn += 1
        guard !cookie.isExpired(at: now) else { return expire(cookie, at: now) }
        if let isChanged = renew(cookie, at: now) { return isChanged }
        let entry = Entry(cookie: cookie, number: turn, use: turn)
        change(cookie.domain) { entries in
            entries.removeAll { $0.cookie.isSame(as: cookie) }
            entries.append(entry)
            if entries.count > Self.limitForDomain { Self.removeLeast(of: &entries, at: now) }
        }
        return true
    }

    /// Replaces a cookie that has not expired, in its place. Returns whether the store has changed; nil if it has no
    /// such cookie.
    private mutating func renew(_ cookie: Cookie, at now: Date) -> Bool? {
        guard let place = entries.index(forKey: cookie.domain),
            let index = entries.values[place].firstIndex(where: { $0.cookie.isSame(as: cookie) })
        else { return nil }
        let previous = entries.values[place][index].cookie
        guard !previous.isExpired(at: now) else { return nil }
        var renewed = cookie
        renewed.creation = previous.creation
        entries.values[place][index].use = turn
        if renewed == previous { return false }
        entries.values[place][index].cookie = renewed
        return true
    }

    /// Removes the cookie that an expired one replaces. Returns whether it had not expired.
    private mutating func expire(_ cookie: Cookie, at now: Date) -> Bool {
        let isKnown = entries[cookie.domain]?.contains { $0.cookie.isSame(as: cookie) && !$0.cookie.isExpired(at: now) }
        _ = remove(cookie)
        return isKnown == true
    }

    /// Removes the cookie, and returns whether the store contained the cookie.
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

    /// Returns whether a cookie that was received without TLS would replace a secure cookie, or would be sent together
    /// with a secure cookie of the same name.
    private func shadowsSecureCookie(_ cookie: Cookie, at now: Date) -> Bool {
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

    /// Removes one cookie of a domain that has too many: an expired cookie if possible, otherwise an insecure cookie,
    /// otherwise any cookie. Among several candidates it removes the least recently used one.
    private static func removeLeast(of entries: inout [Entry], at now: Date) {
        func rank(_ entry: Entry) -> (Int, UInt64) {
            (entry.cookie.isExpired(at: now) ? 0 : entry.cookie.isSecure ? 2 : 1, entry.use)
        }
        if let least = entries.indices.min(by: { rank(entries[$0]) < rank(entries[$1]) }) { entries.remove(at: least) }
    }

    /// Removes all expired cookies if the store has more than `limit` cookies. If the store then still has more,
    /// removes the least recently used cookies.
    mutating func removeExcess(at now: Date) {
        guard count > Self.limit else { return }
        for domain in Array(entries.keys) { change(domain) { $0.removeAll { $0.cookie.isExpired(at: now) } } }
        guard count > Self.limit else { return }
        let excess = entries.values.joined().sorted { $0.use < $1.use }.prefix(count - Self.limit)
        for entry in excess { _ = remove(entry.cookie) }
    }

    // MARK: Reading

    /// Returns the cookies for this URL, ordered by path length (longest first), then by creation (oldest first).
    mutating func cookies(for url: RequestURL, at now: Date) -> [Cookie] {
        guard let host = url.host.map(String.init) else { return [] }
        turn += 1
        var found: [Entry] = []
        for domain in Self.domains(of: host) {
            guard let place = entries.index(forKey: domain) else { continue }
            for index in entries.values[place].indices
            where entries.values[place][index].cookie.isFor(url, of: host, at: now) {
                entries.values[place][index].use = turn
                found.append(entries.values[place][index])
            }
        }
        if found.count < 2 { return found.map(\.cookie) }
        func order(_ entry: Entry) -> (Int, Date, UInt64) {
            (-entry.cookie.path.utf8.count, entry.cookie.creation, entry.number)
        }
        return found.sorted { order($0) < order($1) }.map(\.cookie)
    }

    /// Returns the host and its parent domains.
    private static func domains(of host: String) -> [String] {
        guard !Cookie.isAddress(host) else { return [host] }
        var domains = [host]
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            domains.append(String(rest))
        }
        return domains
    }

    /// Returns all cookies that have not expired, the most recently used last.
    func all(at now: Date) -> [Cookie] {
        entries.values.joined().filter { !$0.cookie.isExpired(at: now) }
            .sorted { ($0.use, $0.number) < ($1.use, $1.number) }.map(\.cookie)
    }
}
