/// The facts about a server on which an evaluation depends: host and port, certificates, and the system's errors.
struct TrustPeer: Hashable {
    let host: String
    let port: Int
    let chain: [[UInt8]]
    let chainFault: TransportError.Code?
    let hostFault: TransportError.Code?

    init(_ peer: PeerTrust) {
        (host, port, chain) = (peer.host, peer.port, peer.certificates)
        (chainFault, hostFault) = (peer.chainError?.code, peer.hostError?.code)
    }
}

/// The verdicts of a session's evaluators, and the running evaluations. Requests to the same peer join the same
/// evaluation.
///
/// A state machine without side effects: `join`, `withdraw` and `end` return an `Action`, the work to do after
/// unlocking. Each waiter is in exactly one `Action`, so each waiter is resumed once (rule R4 in Concurrency.md).
struct TrustMemory {
    typealias Waiter = Continuation<TransportError?>

    struct Action {
        /// The evaluation to start.
        var begun: SharedWork?
        var answered: [Waiter] = []
        var answer: TransportError?
        /// The task of an evaluation for which no request waits any longer.
        var cancelled: Task<Void, Never>?
    }

    struct Verdict {
        let error: TransportError?
        let time: ContinuousClock.Instant
    }

    private struct RunningEvaluation {
        let peer: TrustPeer
        /// The identity of the evaluation. The evaluation's task carries this identity as a task-local value.
        let evaluation: SharedWork
        var waiters: [Int: Waiter]
        var task: Task<Void, Never>?
    }

    private static let lifetime = Duration.seconds(600)
    private static let capacity = 1_000

    private var verdicts: [TrustPeer: Verdict] = [:]
    private var running: [ObjectIdentifier: RunningEvaluation] = [:]
    /// For each peer, the running evaluation that further requests to this peer join.
    private var current: [TrustPeer: SharedWork] = [:]
    private var lastTicket = 0
    /// The number of times that all verdicts were removed, and that those of a host were.
    private var generations: (ofAll: UInt64, ofHosts: [String: UInt64]) = (0, [:])

    var waiting: Int { running.values.reduce(0) { $0 + $1.waiters.count } }

    func verdict(on peer: TrustPeer, at now: ContinuousClock.Instant) -> Verdict? {
        verdicts[peer].flatMap { $0.time.duration(to: now) < Self.lifetime ? $0 : nil }
    }

    mutating func nextTicket() -> Int {
        lastTicket += 1
        return lastTicket
    }

    /// Answers a request with a stored verdict, adds it to the waiters of a running evaluation, or starts an
    /// evaluation.
    ///
    /// - Parameter marks: The running evaluations whose evaluators have made this request.
    mutating func join(
        _ peer: TrustPeer, _ waiter: Waiter, _ ticket: Int, marks: [SharedWork], at now: ContinuousClock.Instant
    ) -> Action {
        if let verdict = verdict(on: peer, at: now) { return Action(answered: [waiter], answer: verdict.error) }
        if let evaluation = current[peer] {
            guard !marks.contains(where: { $0 === evaluation }) else {
                let message = "the trust evaluator for \(peer.host) made a request to the peer that it evaluates"
                return Action(answered: [waiter], answer: TransportError(.untrusted, message, phase: .securing))
            }
            running[ObjectIdentifier(evaluation)]?.waiters[ticket] = waiter
            return Action()
        }
        let evaluation = SharedWork()
        running[ObjectIdentifier(evaluation)] = RunningEvaluation(
            peer: peer, evaluation: evaluation, waiters: [ticket: waiter])
        current[peer] = evaluation
        return Action(begun: evaluation)
    }

    /// Stores the task of an evaluation. Returns false if the evaluation has already ended.
    mutating func keep(_ task: Task<Void, Never>, of evaluation: SharedWork) -> Bool {
        guard running[ObjectIdentifier(evaluation)] != nil else { return false }
        running[ObjectIdentifier(evaluation)]?.task = task
        return true
    }

    /// Removes a waiting request. If no other request waits for the same evaluation, the evaluation is cancelled and
    /// its result is ignored.
    mutating func withdraw(_ ticket: Int) -> Action {
        guard let id = running.first(where: { $0.value.waiters[ticket] != nil })?.key,
            let waiter = running[id]?.waiters.removeValue(forKey: ticket)
        else { return Action() }
        var action = Action(answered: [waiter], answer: .cancelled)
        if running[id]?.waiters.isEmpty == true { action.cancelled = remove(id)?.task }
        return action
    }

    /// Ends an evaluation.
    ///
    /// - Parameter isVerdict: Whether the result is a verdict, which is stored. If false, the evaluation itself failed.
    mutating func end(
        _ evaluation: SharedWork, _ error: TransportError?, isVerdict: Bool, at now: ContinuousClock.Instant
    ) -> Action {
        let id = ObjectIdentifier(evaluation)
        let isCurrent = running[id].map { current[$0.peer] === evaluation } ?? false
        guard let ended = remove(id) else { return Action() }
        if isCurrent, isVerdict { remember(error, of: ended.peer, at: now) }
        return Action(answered: Array(ended.waiters.values), answer: error)
    }

    /// Removes the verdicts of the host with this name, or of all hosts. The running evaluations of these hosts still
    /// answer their waiters, but their results are not stored.
    mutating func forget(_ name: String?) {
        guard let name else {
            (verdicts, current) = ([:], [:])
            generations.ofAll += 1
            return
        }
        verdicts = verdicts.filter { ServerTrustManager.name(of: $0.key.host) != name }
        current = current.filter { ServerTrustManager.name(of: $0.key.host) != name }
        if generations.ofHosts.count >= Self.capacity, generations.ofHosts[name] == nil {
            // A generation may grow without a reason, but it must never fall.
            generations.ofAll += generations.ofHosts.values.max() ?? 0
            generations.ofHosts = [:]
        }
        generations.ofHosts[name, default: 0] += 1
    }

    var hasForgotten: Bool { generations.ofAll > 0 || !generations.ofHosts.isEmpty }

    /// Returns a number that grows whenever the verdicts of the host are removed.
    func generation(of name: String) -> UInt64 { generations.ofAll + (generations.ofHosts[name] ?? 0) }

    private mutating func remove(_ id: ObjectIdentifier) -> RunningEvaluation? {
        guard let removed = running.removeValue(forKey: id) else { return nil }
        if current[removed.peer] === removed.evaluation { current[removed.peer] = nil }
        return removed
    }

    private mutating func remember(_ error: TransportError?, of peer: TrustPeer, at now: ContinuousClock.Instant) {
        if verdicts.count >= Self.capacity {
            verdicts = verdicts.filter { $0.value.time.duration(to: now) < Self.lifetime }
        }
        if verdicts.count >= Self.capacity { verdicts = [:] }
        verdicts[peer] = Verdict(error: error, time: now)
    }
}
