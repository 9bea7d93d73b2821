/// A session's trust manager with the verdicts of its evaluators.
///
/// The policy is asked on the transport's thread, before a request uses a TLS connection. If an evaluator has to run
/// user code, the policy returns an inquiry, and the transport ends the hop. The request's pipeline then awaits the
/// verdict of the inquiry. The next hop finds the verdict in `memory`.
package final class TrustPolicy: Sendable {
    package enum Verdict: Sendable {
        case decided(TrustDecision)
        case asks(TrustInquiry)
    }

    private let manager: ServerTrustManager
    private let memory = Protected(TrustMemory())

    init(_ manager: ServerTrustManager) { self.manager = manager }

    /// Returns whether the transport must ask this policy about the host. If not, the system's verdict is final.
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

    /// The name of the evaluators, by which the session's cache keeps responses apart.
    var name: String { manager.name }

    /// Returns the decision about a peer if no user code has to run for it; otherwise a refusal.
    func immediateDecision(on peer: PeerTrust) -> TrustDecision {
        if case .decided(let decision) = verdict(on: peer) { return decision }
        return .refused(reason: "the evaluator has not judged the server's certificate yet")
    }

    /// The number of requests that wait for a trust evaluation.
    var waiting: Int { memory.withLock { $0.waiting } }

    /// Removes the verdicts of a host, or of all hosts.
    func forget(_ host: String?) {
        let name = host.map { ServerTrustManager.name(of: $0) }
        memory.withLock { $0.forget(name) }
    }

    /// Returns a number that grows when the verdicts of the host are removed.
    func generation(of host: String) -> UInt64 {
        guard memory.withLock({ $0.hasForgotten }) else { return 0 }
        let name = ServerTrustManager.name(of: host)
        return memory.withLock { $0.generation(of: name) }
    }

    /// Joins the running evaluation or starts a new one, and waits for its verdict. Returns an error if the server is
    /// not trusted.
    func settle(_ inquiry: TrustInquiry) async -> TransportError? {
        let (ticket, marks) = (memory.withLock { $0.nextTicket() }, SharedWork.current)
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

    /// Starts an evaluation in an unstructured task. All waiting requests share the evaluation, so it must continue if
    /// the first request is cancelled.
    ///
    /// The task carries the identity of the evaluation. So if the evaluator makes a request to the same peer, that
    /// request fails instead of waiting for its own evaluation.
    private func begin(_ evaluation: SharedWork, _ inquiry: TrustInquiry) {
        let task = Task {
            let marks = SharedWork.current + [evaluation]
            let (error, isVerdict) = await SharedWork.$current.withValue(marks) { await inquiry.evaluate() }
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
            self.init(.untrusted, "the server is not trusted: \(error)", phase: .securing, underlying: error)
        }
    }
}

extension TrustDecision {
    fileprivate init(_ error: TransportError?) {
        self = error.map { .refused(reason: $0.message, code: $0.code) } ?? .trusted
    }
}
