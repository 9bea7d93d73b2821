/// The limits that a server announces in a response.
///
/// - `Retry-After`, with the status 429 or 503 (RFC 9110, RFC 6585);
/// - `RateLimit` and `RateLimit-Policy` in both syntaxes of the IETF's drafts: `limit=100, remaining=0, reset=30` with
///   the policy `100;w=60`, and `"default";r=0;t=30` with the policy `"default";q=100;w=60`;
/// - `RateLimit-Remaining` and `RateLimit-Reset`, and the same with `X-`. A small reset is a number of seconds. A large
///   one is a point of time, in seconds or milliseconds since 1970.
struct ServerRate: Sendable, Equatable {
    /// A number of requests that are allowed in a time.
    struct Quota: Sendable, Equatable {
        var count: Int
        var time: Duration
    }

    /// The time in which the server wants no further request.
    var delay: Duration?
    /// The rest of the strictest quota.
    var quota: Quota?

    /// Reads the limits from a response. Returns nil if there are none.
    init?(_ head: ResponseHead) {
        if head.status == 429 || head.status == 503 { delay = RetryAfter.delay(in: head) }
        let policies = Self.policies(head)
        quota =
            Self.strictest(Self.rests(head, policies)) ?? Self.rest(head, "RateLimit") ?? Self.rest(head, "X-RateLimit")
            ?? Self.rest(head, "X-Rate-Limit") ?? Self.strictest(policies.map(\.quota))
        if delay == nil, quota == nil { return nil }
    }

    /// Returns these limits with times of at most this length.
    func capped(at limit: Duration) -> ServerRate {
        var rate = self
        rate.delay = delay.map { min($0, limit) }
        if let quota, quota.time > limit {
            // The part of the quota for the shorter time, so that the pace stays the same.
            let part = quota.count == 0 ? 0 : max(1, Int(Double(quota.count) * (limit / quota.time)))
            rate.quota = Quota(count: part, time: limit)
        }
        return rate
    }

    private static func strictest(_ quotas: [Quota]) -> Quota? {
        let empty = quotas.filter { $0.count == 0 }.max { $0.time < $1.time }
        return empty ?? quotas.max { $0.time / $0.count < $1.time / $1.count }
    }

    // MARK: Structured fields

    private static func policies(_ head: ResponseHead) -> [(name: String, quota: Quota)] {
        items(head, "RateLimit-Policy").compactMap { item in
            let count = item.parameters["q"].flatMap(number) ?? number(item.value)
            guard let count, count > 0, let window = item.parameters["w"].flatMap(number), window > 0 else {
                return nil
            }
            return (item.value, Quota(count: count, time: .seconds(window)))
        }
    }

    private static func rests(_ head: ResponseHead, _ policies: [(name: String, quota: Quota)]) -> [Quota] {
        let items = items(head, "RateLimit")
        // The older syntax is a dictionary, whose members are the values of one quota.
        let members = Dictionary(items.map { ($0.key, $0.value) }) { first, _ in first }
        if let count = members["remaining"].flatMap(number), let reset = members["reset"].flatMap(number) {
            return [Quota(count: count, time: .seconds(reset))]
        }
        return items.compactMap { item in
            guard let count = item.parameters["r"].flatMap(number) else { return nil }
            if let reset = item.parameters["t"].flatMap(number) { return Quota(count: count, time: .seconds(reset)) }
            return policies.first { $0.name == item.value }.map { Quota(count: count, time: $0.quota.time) }
        }
    }

    private struct Item {
        /// The key of a dictionary's member; empty for the element of a list.
        var key = ""
        var value = ""
        var parameters: [String: String] = [:]
    }

    /// Returns the members of a list or of a dictionary (RFC 9651). Members that are not valid are left out.
    private static func items(_ head: ResponseHead, _ name: String) -> [Item] {
        let values = head.values(for: name)
        return values.isEmpty ? [] : split(values.joined(separator: ","), at: ",").compactMap(item)
    }

    private static func item(_ text: String) -> Item? {
        let parts = split(text, at: ";")
        guard let first = parts.first, !first.isEmpty else { return nil }
        var item = Item(value: unquoted(first))
        if !first.hasPrefix("\""), let (key, value) = pair(first) { (item.key, item.value) = (key, value) }
        for (key, value) in parts.dropFirst().compactMap(pair) { item.parameters[key] = value }
        return item
    }

    private static func pair(_ text: String) -> (String, String)? {
        guard let sign = text.firstIndex(of: "=") else { return nil }
        return (text[..<sign].lowercased(), unquoted(String(text[text.index(after: sign)...])))
    }

    private static func unquoted(_ text: String) -> String {
        guard text.hasPrefix("\""), text.hasSuffix("\""), text.utf8.count > 1 else { return text }
        return String(text.dropFirst().dropLast())
    }

    /// Splits a text at a separator outside of quoted strings, and trims the parts.
    private static func split(_ text: String, at separator: Character) -> [String] {
        text.prefix(4_096).splitOutsideQuotes(at: separator).map(\.trimmingSpaces)
    }

    // MARK: Separate fields

    private static func rest(_ head: ResponseHead, _ name: String) -> Quota? {
        guard let count = head[name + "-Remaining"].flatMap(number), let text = head[name + "-Reset"],
            let reset = reset(text, head)
        else { return nil }
        return Quota(count: count, time: reset)
    }

    /// Returns the time until a reset. From a billion on, the number is a point of time: 1,000,000,000 seconds would be
    /// 31 years.
    private static func reset(_ text: String, _ head: ResponseHead) -> Duration? {
        guard let number = number(text) else { return nil }
        guard number >= 1_000_000_000 else { return .seconds(number) }
        let seconds = number >= 100_000_000_000 ? Double(number) / 1_000 : Double(number)
        let now = head["Date"].flatMap { Date(httpDate: $0) } ?? Date()
        return .seconds(max(0, seconds - now.timeIntervalSince1970))
    }

    /// Returns a number that is not negative; a fraction is cut off. Very large numbers are reduced to 10^15.
    private static func number(_ text: String) -> Int? {
        let digits = text[...].utf8.trimmed.prefix { $0 != UInt8(ascii: ".") }
        guard !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }) else {
            return nil
        }
        return digits.count > 15 ? 1_000_000_000_000_000 : Int(digits: digits)
    }
}
