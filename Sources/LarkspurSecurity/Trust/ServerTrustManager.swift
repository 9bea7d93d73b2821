/// The trust evaluators of a session, by host.
///
///     $0.serverTrust = ServerTrustManager(evaluators: [
///         "api.example.com": .pinnedKeys(try PublicKeyPin("sha256/…"), try PublicKeyPin("sha256/…")),
///         "**.example.com": .default,
///     ])
///
/// A pattern is a host, a suffix or `*`. `*.example.com` matches names with one more label. `**.example.com` matches
/// `example.com` and all names below it. `*` matches all other hosts. If several patterns match, the most specific one
/// applies: the host itself, then the longest suffix, and for equal suffixes `*.` before `**.`. A pattern has no port
/// and applies to all ports. An invalid or duplicate pattern makes every host fail.
public struct ServerTrustManager: Sendable {
    private let exact: [String: any ServerTrustEvaluating]
    /// The suffix patterns, the most specific one first.
    private let patterns: [Pattern]
    private let fallback: (any ServerTrustEvaluating)?
    private let allHostsMustBeEvaluated: Bool
    /// The error about an invalid or duplicate pattern. If there is such a pattern, no server is trusted, because the
    /// pattern's intended host is unknown.
    private let problem: String?
    /// A name that only this manager and its copies have. Managers cannot be compared, because evaluators may be
    /// closures.
    let name = UUID().uuidString

    private struct Pattern {
        let suffix: String
        let isDeep: Bool
        let evaluator: any ServerTrustEvaluating

        func isSame(as other: Pattern) -> Bool { suffix == other.suffix && isDeep == other.isDeep }

        func fits(_ host: String) -> Bool {
            if isDeep, host == suffix.dropFirst() { return true }
            guard host.hasSuffix(suffix), host.count > suffix.count else { return false }
            return isDeep || !host.dropLast(suffix.count).contains(".")
        }
    }

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether requests to a host that matches no pattern fail; true by default. If false,
    ///     the system alone evaluates such hosts.
    ///   - evaluators: The evaluators by pattern.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        var (exact, patterns, problem) = ([String: any ServerTrustEvaluating](), [Pattern](), String?.none)
        for (text, evaluator) in evaluators where text != "*" {
            let stars = text.prefix { $0 == "*" }.count
            let host = text.dropFirst(stars)
            let isPattern = stars == 0 || stars <= 2 && host.first == "."
            guard isPattern, let name = Self.normalized(stars == 0 ? host : host.dropFirst()) else {
                problem = "\(text) is not a valid host pattern, which has no scheme, port or path"
                continue
            }
            let pattern = Pattern(suffix: "." + name, isDeep: stars == 2, evaluator: evaluator)
            if stars == 0 ? exact[name] != nil : patterns.contains(where: pattern.isSame(as:)) {
                problem = "the host pattern \(text) is listed twice in different spellings"
            }
            if stars == 0 { exact[name] = evaluator } else { patterns.append(pattern) }
        }
        self.exact = exact
        self.patterns = patterns.sorted { ($0.suffix.count, $0.isDeep ? 0 : 1) > ($1.suffix.count, $1.isDeep ? 0 : 1) }
        self.problem = problem
        fallback = evaluators["*"]
    }

    /// Returns the host in the form that URLs use, without a dot at its end; nil if the text is not a host.
    private static func normalized(_ host: Substring) -> String? {
        let afterLiteral = host.hasPrefix("[") ? host.drop { $0 != "]" } : host
        guard !afterLiteral.contains(where: ":/?#@".contains),
            let url = try? RequestURL("https://\(host)/", idna: PlatformIDNA.ascii)
        else { return nil }
        return url.host.map { Self.withoutDot(String($0)) }
    }

    /// Returns the name without the dot at its end, which a fully qualified name may have.
    private static func withoutDot(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// Returns the name for comparisons: in the form that URLs use, without a dot at its end.
    static func name(of host: String) -> String { normalized(host[...]) ?? withoutDot(host.lowercased()) }

    /// Returns whether the evaluator of the host accepts every certificate.
    func acceptsEverything(of host: String) -> Bool { (try? evaluator(for: host))?.acceptsEverything == true }

    /// Returns the evaluator for the host; nil if the host has none, so that only the system evaluates it.
    ///
    /// - Throws: ``TrustError`` if a pattern is invalid or listed twice, or if no pattern matches and all hosts must be
    ///   evaluated.
    public func evaluator(for host: String) throws(TrustError) -> (any ServerTrustEvaluating)? {
        if let problem { throw TrustError(.untrusted, "\(problem); no server is trusted until this is corrected") }
        let name = Self.withoutDot(host.lowercased())
        if let evaluator = exact[name] ?? patterns.first(where: { $0.fits(name) })?.evaluator ?? fallback {
            return evaluator
        }
        guard allHostsMustBeEvaluated else { return nil }
        throw TrustError(
            .untrusted, "no trust evaluator for the host \(name); add one, or set allHostsMustBeEvaluated to false")
    }
}
