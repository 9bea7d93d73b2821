/// A question to a user's evaluator.
package struct TrustInquiry: Sendable {
    let trust: ServerTrust
    let evaluator: any ServerTrustEvaluating
    let peer: TrustPeer
    let policy: TrustPolicy

    /// Waits for the evaluator's answer, to this request or to another one; returns what is against the peer.
    func settle() async -> TransportError? { await policy.settle(self) }

    /// Asks the evaluator. Only success and a `TrustError` are its opinion of the peer; with any other error it has none.
    func evaluate() async -> (error: TransportError?, isVerdict: Bool) {
        do {
            try await evaluator.evaluate(trust)
            return (nil, true)
        } catch {
            return (TransportError(trust: error), error is TrustError)
        }
    }
}

/// The inquiries of one request: they are limited, or a peer that shows another certificate each time would never be done with.
struct TrustInquiries {
    /// How many times a request may ask about the same peer again.
    private static let repeats = 5
    /// How many peers a request may ask about; a host may have many certificates, one for each of its machines.
    private static let peers = 100

    private var asked: Set<TrustPeer> = []
    private var repeated = 0

    /// Counts the inquiry; returns why it must not be made, if it is one too many.
    mutating func refusal(of inquiry: TrustInquiry) -> TransportError? {
        let host = inquiry.peer.host
        if !asked.insert(inquiry.peer).inserted {
            repeated += 1
            guard repeated > Self.repeats else { return nil }
            return TransportError(
                .untrusted,
                "\(host) was trusted \(Self.repeats + 1) times, and each verdict was forgotten before its use",
                phase: .securing)
        }
        guard asked.count > Self.peers else { return nil }
        return TransportError(
            .untrusted, "\(host) has shown another certificate over each of \(Self.peers) connections", phase: .securing
        )
    }
}
