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
    private let evaluators: HostTable<any ServerTrustEvaluating>
    private let allHostsMustBeEvaluated: Bool
    /// A name that only this manager and its copies have. Managers cannot be compared, because evaluators may be
    /// closures.
    let name = UUID().uuidString

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether requests to a host that matches no pattern fail; true by default. If false,
    ///     the system alone evaluates such hosts.
    ///   - evaluators: The evaluators by pattern.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = HostTable(evaluators)
    }

    /// Returns the name for comparisons: in the form that URLs use, without a dot at its end.
    static func name(of host: String) -> String { HostTable<any ServerTrustEvaluating>.name(of: host) }

    /// Returns whether the evaluator of the host accepts every certificate.
    func acceptsEverything(of host: String) -> Bool { (try? evaluator(for: host))?.acceptsEverything == true }

    /// Returns the evaluator for the host; nil if the host has none, so that only the system evaluates it.
    ///
    /// - Throws: ``TrustError`` if a pattern is invalid or listed twice, or if no pattern matches and all hosts must be
    ///   evaluated.
    public func evaluator(for host: String) throws(TrustError) -> (any ServerTrustEvaluating)? {
        if let problem = evaluators.problem {
            throw TrustError(.untrusted, "\(problem); no server is trusted until this is corrected")
        }
        if let evaluator = evaluators[host] { return evaluator }
        guard allHostsMustBeEvaluated else { return nil }
        let name = HostTable<any ServerTrustEvaluating>.key(of: host)
        throw TrustError(
            .untrusted, "no trust evaluator for the host \(name); add one, or set allHostsMustBeEvaluated to false")
    }
}
