/// A pending call of an evaluator that runs user code.
package struct TrustInquiry: Sendable {
    let trust: ServerTrust
    let evaluator: any ServerTrustEvaluating
    let peer: TrustPeer
    let policy: TrustPolicy

    /// Waits for the verdict, which several requests can share. Returns an error if the server is not trusted.
    func settle() async -> TransportError? { await policy.settle(self) }

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
}

/// The inquiries of one request. Their number is limited, because a server could present a new certificate on each
/// connection, and the request would never end.
struct TrustInquiries {
    /// The maximum number of inquiries about peers that this request has inquired about before, for all such peers
    /// together.
    private static let repeats = 5
    /// The maximum number of different peers. One host may have many certificates, for example one per machine.
    private static let peers = 100

    private var asked: Set<TrustPeer> = []
    private var repeated = 0

    /// Counts the inquiry. Returns an error if one of the two limits is exceeded.
    mutating func refusal(of inquiry: TrustInquiry) -> TransportError? {
        let host = inquiry.peer.host
        if !asked.insert(inquiry.peer).inserted {
            repeated += 1
            guard repeated > Self.repeats else { return nil }
            return TransportError(
                .untrusted,
                "\(host) was trusted \(Self.repeats + 1) times, but each verdict was removed before its use",
                phase: .securing)
        }
        guard asked.count > Self.peers else { return nil }
        return TransportError(
            .untrusted, "\(host) presented another certificate on each of \(Self.peers) connections", phase: .securing
        )
    }
}
