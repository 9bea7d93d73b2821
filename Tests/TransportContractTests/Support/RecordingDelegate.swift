import Larkspur

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Records the events and questions of one task in order, and detects overlapping events.
final class RecordingDelegate: TransportDelegate {
    typealias Hook = @Sendable (TransportEvent, any TransportTask) -> Void

    private let trace = Observed(Trace())
    /// The task that `hook` controls; set before the task is started.
    private let steered = Protected<(any TransportTask)?>(nil)
    private let hook: Hook?
    private let answers: @Sendable (TransportQuestion) -> Void
    private let end: EndOfLife?

    /// Creates a delegate that opens `released` when it is deinitialised. `hook` runs inside `received` and may control
    /// the task.
    init(released: Gate? = nil, hook: Hook? = nil) {
        self.hook = hook
        answers = { _ in }
        end = released.map(EndOfLife.init)
    }

    /// Creates a delegate that answers questions. Other delegates leave them unanswered.
    init(answering answers: @escaping @Sendable (TransportQuestion) -> Void) {
        hook = nil
        self.answers = answers
        end = nil
    }

    /// The trace so far.
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
            if trace.depth > 0 { trace.faults.append("T5: \(what.name) came while another event was being delivered") }
            if locks > 0 { trace.faults.append("R1: \(what.name) was delivered under a lock") }
            trace.depth += 1
            trace.add(Trace.Record(what: what, task: task, thread: thread))
        }
        // This yields so that an event that must not come now has the chance to come.
        if hook != nil { sched_yield() }
    }

    private final class EndOfLife: Sendable {
        let gate: Gate
        init(_ gate: Gate) { self.gate = gate }
        deinit { gate.open() }
    }
}
