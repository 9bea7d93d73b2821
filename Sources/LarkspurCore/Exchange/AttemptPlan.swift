/// A snapshot of the request's settings, read in one access to the request's state. A step of the pipeline reads
/// settings only from such a plan.
///
/// Settings may change while the request runs, so a step needs a recent plan. `beginAttempt()`, `enter(_:)`,
/// `didCreate(_:)` and `settle()` of `RequestCore` each return a new plan. After user code has run, a step gets a new
/// plan from `currentPlan()`.
struct AttemptPlan: Sendable {
    private let all: RequestSettings
    let deadlines: Deadlines
    /// The number of the attempt, from 1.
    let number: Int
    private let passedGates: Int
    private let serializersNeedTask: Bool
    /// The closure that makes the response of the only serializer. Nil if there are several serializers, or if the only
    /// serializer is asynchronous.
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

    /// Whether response gates are called as soon as the transport delivers a head. With middleware, the gates are
    /// called later, because middleware may return another response.
    var gatesSeeHead: Bool { !settings.gates.isEmpty && settings.middleware.isEmpty }

    /// Whether the finish needs a task, because it reads a clock or releases code of users.
    var finishNeedsTask: Bool { !deadlines.isEmpty || all.ownsUserCode }

    var isObserved: Bool { !settings.monitors.isEmpty }

    /// Whether user code is known to run after the hop. In this case the driver opens the request's task before the
    /// hop, so that the user code has the caller's task-local values. Later steps use their own, newer plans.
    var callsUserAfterHop: Bool {
        serializersNeedTask || !settings.gates.isEmpty || settings.redirectHandler != nil
            || settings.cachedResponseHandler != nil
            || settings.validators.contains { !$0.isOwn }
    }
}
