/// Which evaluator judges which host.
///
///     $0.serverTrust = ServerTrustManager(evaluators: [
///         "api.example.com": .pinnedKeys(try PublicKeyPin("sha256/…"), try PublicKeyPin("sha256/…")),
///         "**.example.com": .default,
///     ])
///
/// A pattern is a host; `*.` and a host, for names with one label more; `**.` and a host, for the host itself and all names
/// below it; or `*` for all others. Of several that fit the nearest decides: the host, then the longest, `*.` before `**.`.
/// A pattern has no port: it is for the host at all ports. An invalid pattern, also one with a port, makes every host fail.
public struct ServerTrustManager: Sendable {
    private let exact: [String: any ServerTrustEvaluating]
    /// The nearest first.
    private let patterns: [Pattern]
    private let fallback: (any ServerTrustEvaluating)?
    private let allHostsMustBeEvaluated: Bool
    /// A pattern that is none, or is there twice: nobody knows what it was to protect.
    private let problem: String?

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

    /// - Parameter allHostsMustBeEvaluated: Whether a host that fits no pattern is refused; with false the system judges it.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        var (exact, patterns, problem) = ([String: any ServerTrustEvaluating](), [Pattern](), String?.none)
        for (text, evaluator) in evaluators where text != "*" {
            let stars = text.prefix { $0 == "*" }.count
            let host = text.dropFirst(stars)
            let isPattern = stars == 0 || stars <= 2 && host.first == "."
            guard isPattern, let name = Self.normalized(stars == 0 ? host : host.dropFirst()) else {
                problem = "\(text) is not a pattern for hosts, which has no scheme, port or path"
                continue
            }
            let pattern = Pattern(suffix: "." + name, isDeep: stars == 2, evaluator: evaluator)
            if stars == 0 ? exact[name] != nil : patterns.contains(where: pattern.isSame(as:)) {
                problem = "\(text) is there twice, written differently"
            }
            if stars == 0 { exact[name] = evaluator } else { patterns.append(pattern) }
        }
        self.exact = exact
        self.patterns = patterns.sorted { ($0.suffix.count, $0.isDeep ? 0 : 1) > ($1.suffix.count, $1.isDeep ? 0 : 1) }
        self.problem = problem
        fallback = evaluators["*"]
    }

    /// The host as a URL has it; nil for what is none.
    private static func normalized(_ host: Substring) -> String? {
        let afterLiteral = host.hasPrefix("[") ? host.drop { $0 != "]" } : host
        guard !afterLiteral.contains(where: ":/?#@".contains),
            let url = try? RequestURL("https://\(host)/", idna: PlatformIDNA.ascii)
        else { return nil }
        return url.host.map { Self.withoutDot(String($0)) }
    }

    /// A name that is said to be whole is the same name.
    private static func withoutDot(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// The name under which a host is compared: as a URL has it, without the dot at its end.
    static func name(of host: String) -> String { normalized(host[...]) ?? withoutDot(host.lowercased()) }

    /// Who judges the host; nil if the system does, alone.
    ///
    /// - Throws: Where nobody may.
    public func evaluator(for host: String) throws(TrustError) -> (any ServerTrustEvaluating)? {
        if let problem { throw TrustError(.untrusted, "\(problem), and so no peer is trusted") }
        let name = Self.withoutDot(host.lowercased())
        if let evaluator = exact[name] ?? patterns.first(where: { $0.fits(name) })?.evaluator ?? fallback {
            return evaluator
        }
        guard allHostsMustBeEvaluated else { return nil }
        throw TrustError(.untrusted, "there is no trust evaluator for the host \(name), and all hosts must have one")
    }
}
