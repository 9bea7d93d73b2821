extension SessionConfiguration {
    /// The evaluators of server certificates; nil by default, so that the system alone evaluates them. If a host
    /// matches a pattern of the manager, it receives no byte of a request until the pattern's evaluator has accepted
    /// its certificates. Hosts that match no pattern are refused, unless the manager's `allHostsMustBeEvaluated` is
    /// false.
    public var serverTrust: ServerTrustManager? {
        get { self[TrustSettings.self].manager }
        set { self[TrustSettings.self].manager = newValue }
    }
}

struct TrustSettings: ParticipantSettings {
    var manager: ServerTrustManager?

    static let place = 100

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        manager.map { TrustParticipant(policy: TrustPolicy($0)) }
    }
}

/// The evaluation of servers by the evaluators of a session.
struct TrustParticipant: TransportAdvisor, SelectiveParticipant {
    let policy: TrustPolicy

    static let steps = HopSteps.prepares

    /// Lets the transport ask about the hop's host, and the cache keep responses apart by the evaluators that judge
    /// their servers.
    func prepare(_ hop: inout OutgoingHop) {
        let url = hop.request.url
        guard url.isHTTPS, let host = url.host.map(String.init) else { return }
        let isCovered = policy.covers(host)
        hop.instructions.asksForTrust = isCovered
        hop.instructions.trustGeneration = policy.generation(of: host)
        guard isCovered else { return }
        hop.instructions.cache?.trust = policy.name
        hop.instructions.cache?.judge = { [policy] in policy.immediateDecision(on: $0) }
    }

    func answer(_ question: TransportQuestion) -> AdvisorAnswer {
        guard case .serverTrust(let peer, let reply) = question else { return .none }
        switch policy.verdict(on: peer) {
        case .decided(let decision):
            reply(decision)
            return .given
        case .asks(let inquiry):
            reply(.refused(reason: "the server's certificate is still being evaluated"))
            return .inquires(inquiry)
        }
    }
}

extension Session {
    /// The evaluators of the session with their verdicts; nil without a ``SessionConfiguration/serverTrust``.
    nonisolated var trust: TrustPolicy? {
        context.participants.all.lazy.compactMap { ($0 as? TrustParticipant)?.policy }.first
    }

    /// Removes the stored verdicts of your trust evaluators, so that the evaluators run again.
    ///
    /// Without this call a verdict is kept for ten minutes, for one host and one chain of certificates. Call this
    /// method when the reason for a verdict has changed: new pins, a revoked certificate, a certificate that the user
    /// has accepted.
    ///
    ///     session.forgetTrustVerdicts(for: "api.example.com")
    ///
    /// Over URLSession, later requests also open new connections, because URLSession judges only new ones.
    ///
    /// Requests that wait for a running evaluation still get its result, but later requests start another evaluation.
    /// Other sessions keep their verdicts, including sessions that ``extending(_:)`` has made. You can call this method
    /// from any thread.
    ///
    /// - Parameter host: The host whose verdicts are removed, written as in a URL; nil removes all verdicts.
    public nonisolated func forgetTrustVerdicts(for host: String? = nil) {
        trust?.forget(host)
    }
}
