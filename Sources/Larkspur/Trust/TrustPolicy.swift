/// A session's trust manager with the verdicts of its evaluators.
///
/// The transport calls the policy on its own thread for each request. If an evaluator has to run user code, the policy
/// returns an inquiry, and the transport ends the hop. The pipeline awaits the verdict of the inquiry, and the next hop
/// uses the stored verdict.
package final class TrustPolicy: Sendable {
    package enum Verdict: Sendable {
        case decided(TrustDecision)
        case asks(TrustInquiry)
    }

    private let manager: ServerTrustManager
    private let memory = Protected(TrustMemory())

    init(_ manager: ServerTrustManager) { self.manager = manager }

    /// Returns whether the transport must call this policy for the host. If false, the system's verdict is final.
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

    /// The number of requests that wait for a trust evaluation.
    var waiting: Int { memory.withLock { $0.waiting } }

    /// Removes the verdicts of a host, or of all hosts.
    func forget(_ host: String?) {
        let name = host.map { ServerTrustManager.name(of: $0) }
        memory.withLock { memory in
            memory.forget { host in name.map { $0 == ServerTrustManager.name(of: host) } ?? true }
        }
    }

    /// Waits for the verdict of a new or running evaluation. Returns an error if the server is not trusted.
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

    /// Starts an evaluation in an unstructured task, because all waiting requests share it and the first request may be
    /// cancelled.
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

extension TransportError {
    /// The error that an evaluator threw other than ``TrustError``, which made the evaluation fail; nil otherwise.
    var errorOfEvaluator: (any Error)? { code == .untrusted && phase == .securing ? underlying : nil }
}

extension TrustDecision {
    fileprivate init(_ error: TransportError?) {
        self = error.map { .refused(reason: $0.message, code: $0.code) } ?? .trusted
    }
}
