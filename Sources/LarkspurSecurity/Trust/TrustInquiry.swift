/// A pending call of an evaluator that runs user code.
package struct TrustInquiry: HopInquiry {
    /// The maximum number of inquiries of one request about peers that it has inquired about before, for all such peers
    /// together.
    private static let repeats = 5
    /// The maximum number of different peers. One host may have many certificates, for example one per machine.
    private static let peers = 100

    let trust: ServerTrust
    let evaluator: any ServerTrustEvaluating
    let peer: TrustPeer
    let policy: TrustPolicy

    /// Waits for the verdict, which several requests can share. Returns an error if the server is not trusted.
    package func settle() async -> TransportError? { await policy.settle(self) }

    /// Calls the evaluator. Only success and a ``TrustError`` are verdicts; any other error means that the evaluation
    /// failed.
    func evaluate() async -> (error: TransportError?, isVerdict: Bool) {
        do {
            try await evaluator.evaluate(trust)
            return (nil, true)
        } catch {
            return (TransportError(trust: error), error is TrustError)
        }
    }

    /// The number of inquiries is limited, because a server could present a new certificate on each connection, and the
    /// request would never end.
    package func refusal(after earlier: [any HopInquiry]) -> TransportError? {
        let asked = earlier.compactMap { ($0 as? TrustInquiry)?.peer }
        let different = Set(asked + [peer]).count
        if asked.contains(peer) {
            guard asked.count + 1 - different > Self.repeats else { return nil }
            return TransportError(
                .untrusted,
                "\(peer.host) was trusted \(Self.repeats + 1) times, but each verdict was removed before its use",
                phase: .securing)
        }
        guard different > Self.peers else { return nil }
        return TransportError(
            .untrusted, "\(peer.host) presented another certificate on each of \(Self.peers) connections",
            phase: .securing)
    }
}
