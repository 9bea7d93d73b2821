/// The mutable state of a task that waits for its admissions.
struct AdmittingState {
    private enum Phase {
        /// Before the first `resume()`.
        case idle
        /// The admission at this position is asked. Its decision is handled where it is made.
        case asked(Int)
        /// The admission at this position has not decided, and the delegate is being told that the hop waits. A
        /// decision in this phase is kept until the delegate knows.
        case announcing(Int, Verdict?)
        /// The delegate knows that the hop waits.
        case waiting(Int)
        /// All admissions have admitted the hop, and the base's task is being made and resumed. A cancellation is kept
        /// until then: a task that is cancelled before it is resumed has no metrics.
        case sending
        /// The base's task was resumed.
        case sent
        case ended
    }

    private enum Verdict {
        case admitted
        case refused(TransportError)
    }

    /// The end of a task that was not sent.
    struct Completion {
        let delegate: any TransportDelegate
        /// The position of the admission that has not decided; nil if there is none. If all admissions have decided, it
        /// may be the position after the last one.
        var withdrawn: Int?
        /// The number of admissions that have admitted the hop.
        var admitted = 0
        /// The metrics; nil for a task that was never resumed.
        var metrics: TransportMetrics?
    }

    /// The work that follows the decision of an admission.
    enum Decision {
        case none
        /// Ask the admission at this position; send the hop if there is none.
        case next(Int)
        case complete(Completion, TransportError)
    }

    enum Ending {
        case none
        case forward(any TransportTask)
        case complete(Completion)
    }

    /// The receiver of the events; nil after the end.
    private(set) var delegate: (any TransportDelegate)?
    /// The time that the hop has waited; nil if it did not wait.
    private(set) var waited: Duration?

    private var phase = Phase.idle
    private var inner: (any TransportTask)?
    private var calls: EarlyCalls
    /// The error of an end that the announcing thread has to report.
    private var endError: TransportError?
    /// The time at which the hop began to wait.
    private var waitsSince: ContinuousClock.Instant?

    init(delegate: any TransportDelegate, allowed: UInt64) {
        self.delegate = delegate
        calls = EarlyCalls(isSuspended: true, isCancelled: false, allowed: allowed)
    }

    var hasEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    // MARK: Control

    /// Returns whether this is the first call, after which the admissions are asked, and the base's task, which has to
    /// learn of the call.
    mutating func resume() -> (isFirst: Bool, (any TransportTask)?) {
        calls.isSuspended = false
        guard case .idle = phase else { return (false, inner) }
        phase = .asked(0)
        return (true, nil)
    }

    /// Returns the base's task, which has to learn of the call.
    mutating func suspend() -> (any TransportTask)? {
        if case .idle = phase { return nil }
        calls.isSuspended = true
        return inner
    }

    /// Notes the position. Returns the base's task if it has to learn of it.
    mutating func allow(upTo position: UInt64) -> (any TransportTask)? {
        calls.allowed = max(calls.allowed, position)
        return inner
    }

    mutating func end(with error: TransportError) -> Ending {
        switch phase {
        case .idle:
            phase = .ended
            return delegate.take().map { .complete(Completion(delegate: $0)) } ?? .none
        case .asked(let step), .waiting(let step):
            return complete(withdrawing: step, admitted: step).map(Ending.complete) ?? .none
        case .announcing:
            endError = endError ?? error
            return .none
        case .sending:
            calls.isCancelled = true
            return .none
        case .sent: return inner.map(Ending.forward) ?? .none
        case .ended: return .none
        }
    }

    private mutating func complete(withdrawing step: Int?, admitted: Int) -> Completion? {
        phase = .ended
        let metrics = metrics()
        return delegate.take().map {
            Completion(delegate: $0, withdrawn: step, admitted: admitted, metrics: metrics)
        }
    }

    private mutating func metrics() -> TransportMetrics {
        endWait()
        var metrics = TransportMetrics()
        (metrics.queued, metrics.total) = (waited, .zero)
        return metrics
    }

    private mutating func endWait() {
        if let start = waitsSince.take() { waited = (waited ?? .zero) + start.duration(to: .now) }
    }

    // MARK: Admissions

    /// Notes that the admission has not decided. Returns the delegate if it has to be told that the hop waits.
    mutating func waits(at step: Int) -> (any TransportDelegate)? {
        guard case .asked(step) = phase else { return nil }
        guard waited == nil, waitsSince == nil else {
            phase = .waiting(step)  // an earlier admission has made the hop wait, and the delegate knows
            return nil
        }
        waitsSince = .now
        phase = .announcing(step, nil)
        return delegate
    }

    mutating func endAnnouncement() -> Decision {
        guard case .announcing(let step, let verdict) = phase else { return .none }
        if let endError {
            let ending: Completion?
            switch verdict {
            case nil: ending = complete(withdrawing: step, admitted: step)
            case .admitted: ending = complete(withdrawing: nil, admitted: step + 1)
            case .refused: ending = complete(withdrawing: nil, admitted: step)
            }
            return ending.map { .complete($0, endError) } ?? .none
        }
        phase = .waiting(step)
        switch verdict {
        case nil: return .none
        case .admitted: return admit(at: step) ?? .none
        case .refused(let error): return refuse(error, at: step) ?? .none
        }
    }

    /// Returns nil if the hop has ended, or if the admission has decided before.
    mutating func admit(at step: Int) -> Decision? {
        switch phase {
        case .asked(step), .waiting(step):
            phase = .asked(step + 1)
            return .next(step + 1)
        case .announcing(step, nil):
            phase = .announcing(step, .admitted)
            return Decision.none
        case .idle, .asked, .announcing, .waiting, .sending, .sent, .ended: return nil
        }
    }

    mutating func refuse(_ error: TransportError, at step: Int) -> Decision? {
        switch phase {
        case .asked(step), .waiting(step):
            return complete(withdrawing: nil, admitted: step).map { .complete($0, error) }
        case .announcing(step, nil):
            phase = .announcing(step, .refused(error))
            return Decision.none
        case .idle, .asked, .announcing, .waiting, .sending, .sent, .ended: return nil
        }
    }

    // MARK: Sending

    /// Returns the delegate and the time that the hop has waited; nil if the task has ended.
    mutating func beginSending() -> (any TransportDelegate, waited: Duration?)? {
        guard case .asked = phase, let delegate else { return nil }
        endWait()
        phase = .sending
        return (delegate, waited)
    }

    mutating func keep(_ inner: any TransportTask) { self.inner = inner }

    /// Notes that the base's task was resumed. Returns the calls that came before.
    mutating func endSending() -> EarlyCalls {
        receive()
        return calls
    }

    /// Notes an event of the base's task, which was resumed therefore.
    mutating func receive() {
        if case .sending = phase { phase = .sent }
    }

    /// Forgets the delegate and the base's task, which the caller releases after unlocking.
    mutating func complete() -> (any TransportDelegate, (any TransportTask)?)? {
        phase = .ended
        defer { (delegate, inner) = (nil, nil) }
        return delegate.map { ($0, inner) }
    }
}
