import Larkspur

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Records the events and questions of one task in order, and sees when they overlap.
final class RecordingDelegate: TransportDelegate {
    typealias Hook = @Sendable (TransportEvent, any TransportTask) -> Void

    private let trace = Observed(Trace())
    /// What `hook` steers; set before the task is started.
    private let steered = Protected<(any TransportTask)?>(nil)
    private let hook: Hook?
    private let answers: @Sendable (TransportQuestion) -> Void
    private let end: EndOfLife?

    /// Opens `released` when its life ends; `hook` runs inside `received`, and may steer the task from there.
    init(released: Gate? = nil, hook: Hook? = nil) {
        self.hook = hook
        answers = { _ in }
        end = released.map(EndOfLife.init)
    }

    /// Answers questions; the others leave them unanswered.
    init(answering answers: @escaping @Sendable (TransportQuestion) -> Void) {
        hook = nil
        self.answers = answers
        end = nil
    }

    /// What was recorded so far.
    var recorded: Trace { trace.value }

    @discardableResult
    func wait(until isReached: @escaping @Sendable (Trace) -> Bool) async throws -> Trace {
        try await trace.wait(until: isReached)
    }

    func steer(_ task: any TransportTask) {
        guard hook != nil else { return }
        steered.withLock { $0 = task }
    }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        enter(.event(event), task)
        if let hook, let task = steered.withLock({ $0 }) { hook(event, task) }
        if case .completed = event { steered.withLock { $0 = nil } }
        trace.change { $0.depth -= 1 }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        enter(.question(question), task)
        answers(question)
        trace.change { $0.depth -= 1 }
    }

    private func enter(_ what: Trace.What, _ task: TransportTaskID) {
        let locks = ThreadMarks.lockDepth
        let thread = String(describing: pthread_self())
        trace.change { trace in
            if trace.depth > 0 { trace.faults.append("T5: \(what.name) came while the one before was being delivered") }
            if locks > 0 { trace.faults.append("R1: \(what.name) was delivered under a lock") }
            trace.depth += 1
            trace.records.append(Trace.Record(what: what, task: task, thread: thread))
        }
        // Gives an event that must not come now the chance to do so.
        if hook != nil { sched_yield() }
    }

    private final class EndOfLife: Sendable {
        let gate: Gate
        init(_ gate: Gate) { self.gate = gate }
        deinit { gate.open() }
    }
}
