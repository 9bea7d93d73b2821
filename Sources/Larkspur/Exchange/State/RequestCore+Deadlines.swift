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
    func isLimited(_ limits: [RequestTimeouts.Limit]) -> Bool {
        !limits.isEmpty || context.configuration.options.timeouts.spanHops
    }

    /// Why a delay cannot be waited for: the request would be over before its end.
    func refusal(of delay: Duration) -> RetryRefusal? {
        guard let total = read({ $0.deadlines.total }), delay >= total.timeLeft else { return nil }
        return RetryRefusal("after a delay of \(delay) the total timeout of \(total.limit) would have passed")
    }

    // MARK: Watching

    /// The request starts, or has got other limits while it runs.
    func watchTotal(_ limits: [RequestTimeouts.Limit]) {
        guard isLimited(limits) else { return }
        watch(.total, timeouts(limits).total, knowing: limits.count)
    }

    func watchAttempt(_ plan: AttemptPlan) { watch(.attempt, timeouts(plan.settings.timeouts).attempt) }

    /// Applies the limits that the built request brings, and those that modifiers and adapters have changed. Other limits stay
    /// as they are, because the caller may have changed them meanwhile.
    func watch(_ request: OutgoingRequest, builtWithin limits: [RequestTimeouts.Limit]) {
        let (before, after) = (timeouts(limits), request.options.timeouts)
        if after.$total != before.$total { watch(.total, after.total) }
        if after.$attempt != before.$attempt { watch(.attempt, after.attempt) }
    }

    /// Puts the limit in place of the one before, whose beginning it takes over.
    ///
    /// - Parameter count: How many of the request's settings it is made of; if there are more by now, who has added them puts
    ///   a newer limit in place.
    private func watch(_ scope: Deadline.Scope, _ limit: Duration?, knowing count: Int? = nil) {
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
        if let next { next.start { self.end(by: next) } }
    }

    // MARK: Passing

    private func end(by deadline: Deadline) {
        switch deadline.scope {
        case .attempt: cutHop(by: deadline)
        case .total: end(byTotal: deadline.error)
        }
    }

    /// Ends the request. The stage is read in the same step: a moment later the pipeline is somewhere else.
    private func end(byTotal error: RequestError) {
        let action = box.withLock { state in
            // The record of the hop says why it ended, not how.
            if state.cancellation == nil { state.hop?.refuse(TransportError(.timedOut, error.message)) }
            return state.cancel(RequestError(wrapping: error, as: .timedOut, stage: state.stage))
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

    /// Returns the error of a failed hop. A timeout of the hop may be that of a limit which spans hops. If the request's total
    /// time is over, the pipeline stops.
    func failure(from error: TransportError) throws(Exit) -> any Error {
        guard error.code == .timedOut else { return error }
        let deadlines = read { $0.deadlines }
        if let total = deadlines.total, total.isDue {
            end(by: total)
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
