/// A session's trust manager, with what its evaluators have said.
///
/// It is asked on the transport's thread, for each request. What needs a user's code becomes an inquiry, which the pipeline
/// makes after the hop was refused; its verdict stands when the hop begins once more.
package final class TrustPolicy: Sendable {
    package enum Verdict: Sendable {
        case decided(TrustDecision)
        case asks(TrustInquiry)
    }

    fileprivate struct Peer: Hashable {
        let host: String
        let port: Int
        let chain: [[UInt8]]
    }

    private static let lifetime = Duration.seconds(600)
    private static let capacity = 1_000

    private let manager: ServerTrustManager
    private let remembered = Protected<[Peer: (error: TransportError?, time: ContinuousClock.Instant)]>([:])

    init(_ manager: ServerTrustManager) { self.manager = manager }

    /// Whether the transport is to ask about this host; if not, the system's verdict is all.
    func covers(_ host: String) -> Bool {
        do { return try manager.evaluator(for: host) != nil } catch { return true }
    }

    package func verdict(on peer: PeerTrust) -> Verdict {
        do {
            guard let evaluator = try manager.evaluator(for: peer.host) else { return .decided(.platformDefault) }
            let trust = try ServerTrust(peer)
            if let result = evaluator.immediately(trust) {
                try result.get()
                return .decided(.trusted)
            }
            let id = Peer(host: peer.host, port: peer.port, chain: peer.certificates)
            if let known = remembered.withLock({ $0[id] }), known.time.duration(to: .now) < Self.lifetime {
                guard let error = known.error, error.errorOfEvaluator != nil else {
                    return .decided(TrustDecision(known.error))
                }
                // A decision cannot carry the evaluator's error, an inquiry can.
                return .asks(TrustInquiry(trust: trust, evaluator: evaluator, id: id, policy: self, known: error))
            }
            return .asks(TrustInquiry(trust: trust, evaluator: evaluator, id: id, policy: self))
        } catch {
            return .decided(TrustDecision(TransportError(trust: error)))
        }
    }

    fileprivate func remember(_ error: TransportError?, of id: Peer) {
        // What is forgotten is let go of after unlocking: it has errors of evaluators.
        _ = remembered.withLock { remembered in
            let before = remembered
            if remembered.count >= Self.capacity {
                remembered = remembered.filter { $0.value.time.duration(to: .now) < Self.lifetime }
            }
            if remembered.count >= Self.capacity { remembered = [:] }
            remembered[id] = (error, .now)
            return before
        }
    }
}

/// A question to a user's evaluator.
package struct TrustInquiry: Sendable {
    fileprivate let trust: ServerTrust
    fileprivate let evaluator: any ServerTrustEvaluating
    fileprivate let id: TrustPolicy.Peer
    fileprivate let policy: TrustPolicy
    /// What the evaluator has thrown before.
    fileprivate var known: TransportError?

    /// Asks, and has the policy remember the answer, unless the evaluator was cancelled; gives what is against the peer.
    func settle() async -> TransportError? {
        if let known { return known }
        do {
            try await evaluator.evaluate(trust)
            policy.remember(nil, of: id)
            return nil
        } catch {
            let failure = TransportError(trust: error)
            if !(error is CancellationError) { policy.remember(failure, of: id) }
            return failure
        }
    }
}

extension TransportError {
    fileprivate init(trust error: any Error) {
        if let error = error as? TrustError {
            self.init(error.code, error.description, phase: .securing)
        } else {
            self.init(.untrusted, "the peer is not trusted: \(error)", phase: .securing, underlying: error)
        }
    }
}

extension TransportError {
    /// What a trust evaluator has thrown, if that was an error of its own.
    var errorOfEvaluator: (any Error)? { code == .untrusted && phase == .securing ? underlying : nil }
}

extension TrustDecision {
    fileprivate init(_ error: TransportError?) {
        self = error.map { .refused(reason: $0.message, code: $0.code) } ?? .trusted
    }
}
