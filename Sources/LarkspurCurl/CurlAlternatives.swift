/// The servers that `Alt-Svc` fields name as alternatives over HTTP/3 (RFC 7838). The transport keeps them for
/// the requests of all its loops.
struct CurlAlternatives {
    /// Host and port of an alternative server. Its certificate must be for the origin's host.
    struct Endpoint: Equatable {
        let host: String
        let port: Int

        /// The endpoint in the syntax of `CURLOPT_CONNECT_TO`. The empty parts before it match every connection.
        var connectTo: String { "::\(authority)" }

        /// The endpoint in the syntax of the field `Alt-Used`.
        var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    }

    private struct Entry {
        /// Nil if the origin has no alternative any more, and the entry only keeps `brokenUntil`.
        var endpoint: Endpoint?
        var expiry: CurlClock.Instant
        /// The origin's alternatives are not used before this time, because one of them could not be reached.
        var brokenUntil = CurlClock.zero
    }

    static let limit = 1_000
    private static let longestField = 8 * 1_024
    private static let longestLife = 30 * 86_400
    private static let brokenTime: UInt64 = 300 * 1_000_000_000

    private var entries: [String: Entry] = [:]

    /// Stores the alternative that the response names for the URL's origin, or removes the stored one.
    mutating func learn(from head: ResponseHead, of url: RequestURL, at now: CurlClock.Instant) {
        let fields = head.values(for: "Alt-Svc")
        guard !fields.isEmpty, let host = url.host else { return }
        let name = String(url.originText)
        switch Self.read(fields.joined(separator: ","), host: String(host)) {
        case .unchanged: break
        case .cleared: remove(url, at: now)
        case .found(let endpoint, let seconds):
            // Servers behind a load balancer may name different alternatives, all of them out of reach.
            let brokenUntil = entries[name]?.brokenUntil ?? CurlClock.zero
            let expiry = now + UInt64(seconds) * 1_000_000_000
            entries[name] = Entry(endpoint: endpoint, expiry: expiry, brokenUntil: brokenUntil)
            if entries.count > Self.limit, let first = entries.min(by: { $0.value.expiry < $1.value.expiry }) {
                entries[first.key] = nil
            }
        }
    }

    /// Removes the alternative of the URL's origin.
    mutating func remove(_ url: RequestURL, at now: CurlClock.Instant) {
        let name = String(url.originText)
        guard let brokenUntil = entries[name]?.brokenUntil else { return }
        entries[name] = brokenUntil > now ? Entry(expiry: brokenUntil, brokenUntil: brokenUntil) : nil
    }

    /// Returns the alternative for a request; nil if none is known or none may be used now.
    func endpoint(for url: RequestURL, at now: CurlClock.Instant) -> Endpoint? {
        guard !entries.isEmpty, let entry = entries[String(url.originText)], now < entry.expiry,
            now >= entry.brokenUntil
        else { return nil }
        return entry.endpoint
    }

    /// Notes that the alternative of the URL's origin could not be reached, or was lost before it answered.
    mutating func markBroken(_ url: RequestURL, at now: CurlClock.Instant) {
        entries[String(url.originText)]?.brokenUntil = now + Self.brokenTime
    }

    // MARK: The field

    enum Reading: Equatable {
        case unchanged
        case cleared
        case found(Endpoint, seconds: Int)
    }

    /// Reads the value of an `Alt-Svc` field. The first usable alternative over HTTP/3 counts. A field without any such
    /// alternative removes the stored one, because each field replaces all earlier ones.
    ///
    /// - Parameter host: The origin's host, which an alternative without a host has.
    static func read(_ field: String, host: String) -> Reading {
        guard field.utf8.count <= longestField else { return .unchanged }
        if field.listed == ["clear"] { return .cleared }
        for member in field.splitOutsideQuotes(at: ",") {
            // The first parameter of the text after the semicolon is the alternative itself: `h3=":443"; ma=60`.
            let values = (";" + member).parameters
            guard member.drop(while: { $0 == " " || $0 == "\t" }).hasPrefix("h3="), let authority = values["h3"],
                let endpoint = endpoint(in: authority, host: host)
            else { continue }
            guard let age = values["ma"] else { return .found(endpoint, seconds: 86_400) }
            guard let seconds = Int(age), seconds >= 0 else { continue }
            return seconds == 0 ? .cleared : .found(endpoint, seconds: min(seconds, longestLife))
        }
        return .cleared
    }

    private static func endpoint(in authority: String, host: String) -> Endpoint? {
        guard let url = try? RequestURL("https://\(authority.hasPrefix(":") ? "h" : "")\(authority)/"),
            url.user == nil, url.path == "/", url.query == nil, let named = url.host, !named.isEmpty,
            let port = url.effectivePort, port > 0
        else { return nil }
        return Endpoint(host: authority.hasPrefix(":") ? host : String(named), port: port)
    }
}
