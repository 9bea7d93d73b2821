/// The limits of one request that span hops.
struct Deadlines: Sendable {
    var attempt: Deadline?
    var total: Deadline?

    var isEmpty: Bool { attempt == nil && total == nil }

    var timeLeft: Duration? {
        guard let attempt, let total else { return (attempt ?? total)?.timeLeft }
        return min(attempt.timeLeft, total.timeLeft)
    }

    func stop() {
        attempt?.stop()
        total?.stop()
    }
}

/// The limits that span hops, from their beginning to what follows when they pass.
extension RequestCore {
    /// Until the nearest of them passes; nil without any.
    var timeLeft: Duration? { read { $0.deadlines }.timeLeft }

    /// The request's limits before it is built.
    private func timeouts(_ limits: [RequestTimeouts.Limit]) -> RequestTimeouts {
        var timeouts = context.configuration.options.timeouts
        for limit in limits { limit.apply(to: &timeouts) }
        return timeouts
    }

    /// Whether there is a limit that is known before the request is built.
    private func isLimited(_ limits: [RequestTimeouts.Limit]) -> Bool {
        !limits.isEmpty || context.configuration.options.timeouts.spanHops
    }

    /// Why a delay cannot be waited for: the request would be over before its end.
    func refusal(of delay: Duration) -> RetryRefusal? {
        guard let total = read({ $0.deadlines.total }), delay >= total.timeLeft else { return nil }
        return RetryRefusal("after a delay of \(delay) the total timeout of \(total.limit) would have passed")
    }

    // MARK: Watching

    /// The request starts, or has got other limits while it runs.
    func watchTotal(_ face: any Request, _ limits: [RequestTimeouts.Limit]) {
        guard isLimited(limits) else { return }
        watch(.total, timeouts(limits).total, face, knowing: limits.count)
    }

    func watchAttempt(_ face: any Request) {
        let (limits, before) = read { ($0.settings.timeouts, $0.deadlines.attempt.take()) }
        before?.stop()
        if isLimited(limits) { watch(.attempt, timeouts(limits).attempt, face) }
    }

    /// The request is built: it may have brought limits of its own, and modifiers and adapters may have changed them. What
    /// they left alone is left alone here too, because it may have been set anew meanwhile.
    func watch(_ request: OutgoingRequest, builtWithin limits: [RequestTimeouts.Limit], _ face: any Request) {
        let (before, after) = (timeouts(limits), request.options.timeouts)
        if after.$total != before.$total { watch(.total, after.total, face) }
        if after.$attempt != before.$attempt { watch(.attempt, after.attempt, face) }
    }

    /// Puts the limit in place of the one before, whose beginning it takes over.
    ///
    /// - Parameter count: How many of the request's settings it is made of; if there are more by now, who has added them puts
    ///   a newer limit in place.
    private func watch(_ scope: Deadline.Scope, _ limit: Duration?, _ face: any Request, knowing count: Int? = nil) {
        let place = scope.place
        let before = read { $0.deadlines[keyPath: place] }
        guard before?.limit != limit else { return }
        let next = limit.map { Deadline(scope, $0, on: context.configuration.clock, replacing: before) }
        let (isKept, replaced) = box.withLock { state in
            let isKept = state.isWithPipeline && (count == nil || count == state.settings.timeouts.count)
            defer { if isKept { state.deadlines[keyPath: place] = next } }
            return (isKept, state.deadlines[keyPath: place])
        }
        guard isKept else { return }
        // Whoever sets another limit may be a piece of code that runs under this one.
        replaced?.retire(for: next)
        if let next { next.start { self.end(by: next, face) } }
    }

    // MARK: Stages

    /// Notes the stage that the pipeline enters if it has something to do there: whether `parts` gives something.
    ///
    /// Code that an attempt's limit has left behind changes nothing: its task is cancelled.
    @discardableResult
    func enter<Part: Sendable>(
        _ stage: RequestError.Stage, isNeeded: Bool = false, with parts: (inout RequestState) -> [Part]
    ) -> [Part] {
        let isLeftBehind = Task.isCancelled
        return read { state in
            let parts = parts(&state)
            if isNeeded || !parts.isEmpty, !isLeftBehind { state.stage = stage }
            return parts
        }
    }

    // MARK: Passing

    private func end(by deadline: Deadline, _ face: any Request) {
        switch deadline.scope {
        case .attempt: cutHop(by: deadline)
        case .total: end(byTotal: deadline.error, face)
        }
    }

    /// Ends the request. The stage is read in the same step: a moment later the pipeline is somewhere else.
    private func end(byTotal error: RequestError, _ face: any Request) {
        let action = box.withLock { state in
            // The record of the hop says why it ended, not how.
            if state.cancellation == nil { state.hop?.refuse(TransportError(.timedOut, error.message)) }
            return state.cancel(RequestError(wrapping: error, as: .timedOut, stage: state.stage), face)
        }
        act(on: action)
    }

    /// Ends the hop under way, if there is one: it fails, and with it the attempt.
    private func cutHop(by deadline: Deadline) {
        let task = box.withLock { state -> (any TransportTask)? in
            guard state.phase == .transferring || state.phase == .receiving, state.deadlines.attempt === deadline else {
                return nil
            }
            state.hop?.refuse(TransportError(.timedOut, deadline.error.message))
            return state.hop?.task
        }
        task?.cancel()
    }

    /// The limit may have passed before there was a hop to be cut.
    func cutHopIfLate() {
        if let limit = read({ $0.deadlines.attempt }), limit.hasPassed { cutHop(by: limit) }
    }

    /// Why a hop failed: one that was out of time may have been so by a limit that spans hops. If it is the request's
    /// whole time that is over, nobody goes on.
    func failure(from error: TransportError, _ face: any Request) throws(Exit) -> any Error {
        guard error.code == .timedOut else { return error }
        let deadlines = read { $0.deadlines }
        if let total = deadlines.total, total.isDue {
            end(by: total, face)
            throw .abandon
        }
        return deadlines.attempt.flatMap { $0.isDue ? $0.error : nil } ?? error
    }
}

extension Deadline.Scope {
    fileprivate var place: WritableKeyPath<Deadlines, Deadline?> & Sendable {
        switch self {
        case .attempt: \.attempt
        case .total: \.total
        }
    }
}
