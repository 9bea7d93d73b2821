import LarkspurTransport

/// What a session demands of a peer, compiled so that it can be judged at once on the transport's thread.
package struct TrustPolicy: Sendable {
    private let judge: @Sendable (PeerTrust) -> TrustDecision

    /// - Parameter judge: Library code only; it runs on the transport's thread and never blocks (R2).
    package init(_ judge: @escaping @Sendable (PeerTrust) -> TrustDecision) {
        self.judge = judge
    }

    package func decision(for peer: PeerTrust) -> TrustDecision {
        judge(peer)
    }
}
