/// A snapshot of the request's settings, read in one access to the request's state. Each step decides by such a plan.
///
/// Settings may change while the request runs. `beginAttempt()`, `enter(_:)`, `didCreate(_:)` and `settle()` of
/// `RequestCore` therefore return a new plan. After user code has run, steps get one from `currentPlan()`.
struct AttemptPlan: Sendable {
    private let all: RequestSettings
    let deadlines: Deadlines
    /// The number of the attempt, from 1.
    let number: Int
    private let passedGates: Int
    private let serializersNeedTask: Bool
    /// The closure that makes the response of the only serializer; nil if there are several, or if the only one is
    /// asynchronous.
    var prompt: SerializerJob.Prompt?

    init(_ state: borrowing RequestState) {
        all = state.settings
        deadlines = state.deadlines
        number = state.attemptCount
        passedGates = state.attempt?.passedGates ?? 0
        serializersNeedTask = state.queue.needsTask
    }

    var settings: RequestSettings.Content { _read { yield all.content } }

    /// The response gates that have not been called in this attempt.
    var gates: ArraySlice<ResponseGate> { settings.gates.dropFirst(passedGates) }

    /// Whether response gates are called as soon as the transport delivers a head. With middleware they are called
    /// later, because middleware may return another response.
    var gatesSeeHead: Bool { !settings.gates.isEmpty && settings.middleware.isEmpty }

    var isObserved: Bool { !settings.monitors.isEmpty }

    /// Whether user code is known to run after the hop. The driver then opens the request's task before the hop, so
    /// that the user code has the caller's task-local values. Later steps do not rely on this value: each has a newer
    /// plan.
    var callsUserAfterHop: Bool {
        serializersNeedTask || !settings.gates.isEmpty || settings.redirectHandler != nil
            || settings.validators.contains { !$0.isOwn }
    }
}
