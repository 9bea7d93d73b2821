/// A session's trust manager, with the verdicts of its evaluators.
///
/// It is asked on the transport's thread, for each request. What needs a user's code becomes an inquiry, which the pipeline
/// makes after the hop was refused; its verdict stands when the hop begins once more.
package final class TrustPolicy: Sendable {
    package enum Verdict: Sendable {
        case decided(TrustDecision)
        case asks(TrustInquiry)
    }

    private let manager: ServerTrustManager
    private let memory = Protected(TrustMemory())

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
            let id = TrustPeer(peer)
            if let known = memory.withLock({ $0.verdict(on: id, at: .now) }) {
                return .decided(TrustDecision(known.error))
            }
            return .asks(TrustInquiry(trust: trust, evaluator: evaluator, peer: id, policy: self))
        } catch {
            return .decided(TrustDecision(TransportError(trust: error)))
        }
    }

    /// How many requests wait for an evaluator.
    var waiting: Int { memory.withLock { $0.waiting } }

    /// Forgets the verdicts on a host, or on all hosts.
    func forget(_ host: String?) {
        let name = host.map { ServerTrustManager.name(of: $0) }
        memory.withLock { memory in
            memory.forget { host in name.map { $0 == ServerTrustManager.name(of: host) } ?? true }
        }
    }

    /// Asks the evaluator, or waits for its answer to another request; returns what is against the peer.
    func settle(_ inquiry: TrustInquiry) async -> TransportError? {
        let (ticket, marks) = (memory.withLock { $0.nextTicket() }, Refresh.current)
        return await suspended { waiter in
            change(for: inquiry) { $0.join(inquiry.peer, waiter, ticket, marks: marks, at: .now) }
        } onCancel: {
            change { $0.withdraw(ticket) }
        }
    }

    private func change(for inquiry: TrustInquiry? = nil, _ event: (inout TrustMemory) -> TrustMemory.Action) {
        let action = memory.withLock { event(&$0) }
        action.cancelled?.cancel()
        for waiter in action.answered { waiter.resume(returning: action.answer) }
        if let evaluation = action.begun, let inquiry { begin(evaluation, inquiry) }
    }

    /// Starts an evaluation. Unstructured: all requests that wait for it share it, and the one that began it may leave first.
    ///
    /// It is marked as a refresh is, so that a request that the evaluator makes to the same peer does not wait for itself.
    private func begin(_ evaluation: Refresh, _ inquiry: TrustInquiry) {
        let task = Task {
            let marks = Refresh.current + [evaluation]
            let (error, isVerdict) = await Refresh.$current.withValue(marks) { await inquiry.evaluate() }
            change { $0.end(evaluation, error, isVerdict: isVerdict, at: .now) }
        }
        if !memory.withLock({ $0.keep(task, of: evaluation) }) { task.cancel() }
    }
}

extension TransportError {
    init(trust error: any Error) {
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
