/// Values by the patterns of hosts.
///
/// A pattern is a host, a suffix or `*`. `*.example.com` matches names with one more label. `**.example.com` matches
/// `example.com` and all names below it. `*` matches all other hosts. If several patterns match, the most specific one
/// applies: the host itself, then the longest suffix, and for equal suffixes `*.` before `**.`. A pattern has no port.
package struct HostTable<Value: Sendable>: Sendable {
    private let exact: [String: Value]
    /// The suffix patterns, the most specific one first.
    private let patterns: [Pattern]
    private let fallback: Value?
    /// The error about an invalid or duplicate pattern, whose intended host is unknown; nil if there is none.
    package let problem: String?

    private struct Pattern {
        let suffix: String
        let isDeep: Bool
        let value: Value

        func isSame(as other: Pattern) -> Bool { suffix == other.suffix && isDeep == other.isDeep }

        func fits(_ host: String) -> Bool {
            if isDeep, host == suffix.dropFirst() { return true }
            guard host.hasSuffix(suffix), host.count > suffix.count else { return false }
            return isDeep || !host.dropLast(suffix.count).contains(".")
        }
    }

    package init(_ values: [String: Value]) {
        var (exact, patterns, problem) = ([String: Value](), [Pattern](), String?.none)
        for (text, value) in values where text != "*" {
            let stars = text.prefix { $0 == "*" }.count
            let host = text.dropFirst(stars)
            let isPattern = stars == 0 || stars <= 2 && host.first == "."
            guard isPattern, let name = Self.normalized(stars == 0 ? host : host.dropFirst()) else {
                problem = "\(text) is not a valid host pattern, which has no scheme, port or path"
                continue
            }
            let pattern = Pattern(suffix: "." + name, isDeep: stars == 2, value: value)
            if stars == 0 ? exact[name] != nil : patterns.contains(where: pattern.isSame(as:)) {
                problem = "the host pattern \(text) is listed twice in different spellings"
            }
            if stars == 0 { exact[name] = value } else { patterns.append(pattern) }
        }
        self.exact = exact
        self.patterns = patterns.sorted { ($0.suffix.count, $0.isDeep ? 0 : 1) > ($1.suffix.count, $1.isDeep ? 0 : 1) }
        self.problem = problem
        fallback = values["*"]
    }

    /// The value of the most specific pattern that matches the host; nil if none does.
    package subscript(host: String) -> Value? {
        let name = Self.key(of: host)
        return exact[name] ?? patterns.first(where: { $0.fits(name) })?.value ?? fallback
    }

    /// Returns the name for comparisons: in the form that URLs use, without a dot at its end.
    package static func name(of host: String) -> String { normalized(host[...]) ?? key(of: host) }

    /// Returns the host of a URL in the form for comparisons: in lower case, without a dot at its end.
    package static func key(of host: String) -> String { withoutDot(host.lowercased()) }

    /// Returns the name without the dot at its end, which a fully qualified name may have.
    private static func withoutDot(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    /// Returns the host in the form that URLs use, without a dot at its end; nil if the text is not a host.
    private static func normalized(_ host: Substring) -> String? {
        let afterLiteral = host.hasPrefix("[") ? host.drop { $0 != "]" } : host
        guard !afterLiteral.contains(where: ":/?#@".contains),
            let url = try? RequestURL("https://\(host)/", idna: PlatformIDNA.ascii)
        else { return nil }
        return url.host.map { withoutDot(String($0)) }
    }
}
