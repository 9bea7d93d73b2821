/// What an attempt goes by: the settings of the request, as one look at its state has found them.
///
/// Settings may change while the request runs. So each transition of the state returns a new plan, and so does `look()` where
/// code of the user's has run in between.
struct AttemptPlan: Sendable {
    private let all: RequestSettings
    let deadlines: Deadlines
    /// The number of the attempt, from 1.
    let number: Int
    private let passedGates: Int
    private let serializersNeedTask: Bool
    /// Makes the response of the only serializer, once the hop has ended.
    var prompt: SerializerJob.Prompt?

    init(_ state: borrowing RequestState) {
        all = state.settings
        deadlines = state.deadlines
        number = state.attemptCount
        passedGates = state.attempt?.passedGates ?? 0
        serializersNeedTask = state.queue.needsTask
    }

    var settings: RequestSettings.Content { _read { yield all.content } }

    /// The response gates that have not seen the attempt's response.
    var gates: ArraySlice<ResponseGate> { settings.gates.dropFirst(passedGates) }

    /// Whether response gates are asked with the transport's head: middleware may give another one, so it goes first.
    var gatesSeeHead: Bool { !settings.gates.isEmpty && settings.middleware.isEmpty }

    var isObserved: Bool { !settings.monitors.isEmpty }

    /// Whether a step after the hop is known to run code of the user's. It says only in which task that code runs: each step
    /// decides again, by the plan of its time, whether it needs a task.
    var callsUserAfterHop: Bool {
        serializersNeedTask || !settings.gates.isEmpty || settings.redirectHandler != nil
            || settings.validators.contains { !$0.isOwn }
    }
}
