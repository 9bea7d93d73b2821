/// The timeouts of one request that cover several hops: the timeout of the attempt and the total timeout.
struct Deadlines: Sendable {
    var attempt: Deadline?
    var total: Deadline?
    /// The attempt's timeout while its hop waits for admission.
    var paused: PausedDeadline?

    var isEmpty: Bool { attempt == nil && paused == nil && total == nil }

    var timeLeft: Duration? {
        let ofAttempt = attempt?.timeLeft ?? paused?.timeLeft
        guard let ofAttempt, let total else { return ofAttempt ?? total?.timeLeft }
        return min(ofAttempt, total.timeLeft)
    }

    func stop() {
        attempt?.stop()
        total?.stop()
    }
}

/// Functions that start, replace and handle the timeouts that cover several hops.
extension RequestCore {
    /// The time until the next timeout passes; nil if there is no timeout.
    var timeLeft: Duration? { read { $0.deadlines }.timeLeft }

    /// Returns the timeouts of the session and of the request's settings, which are known before the request is built.
    private func timeouts(_ limits: [RequestTimeouts.Limit]) -> RequestTimeouts {
        var timeouts = context.configuration.options.timeouts
        for limit in limits { limit.apply(to: &timeouts) }
        return timeouts
    }

    /// Returns whether a timeout is known before the request is built.
    func isLimited(_ limits: [RequestTimeouts.Limit]) -> Bool {
        !limits.isEmpty || context.configuration.options.timeouts.spanHops
    }

    /// Returns a refusal if the total timeout would pass before the end of a retry delay.
    func refusal(of delay: Duration) -> RetryRefusal? {
        guard let total = read({ $0.deadlines.total }), delay >= total.timeLeft else { return nil }
        return RetryRefusal(
            "after a delay of \(delay.readable) the total timeout of \(total.limit.readable) would have passed")
    }

    // MARK: Watching

    /// Starts or replaces the total timeout. Called when the request starts, and when its timeout settings change.
    func watchTotal(_ limits: [RequestTimeouts.Limit]) {
        guard isLimited(limits) else { return }
        watch(.total, timeouts(limits).total, knowing: limits.count)
    }

    func watchAttempt(_ plan: AttemptPlan) { watch(.attempt, timeouts(plan.settings.timeouts).attempt) }

    /// Applies the timeouts that the built request, modifiers or adapters have set. Other timeouts are not changed,
    /// because the caller may have changed them meanwhile.
    func watch(_ request: OutgoingRequest, builtWithin limits: [RequestTimeouts.Limit]) {
        let (before, after) = (timeouts(limits), request.options.timeouts)
        if after.$total != before.$total { watch(.total, after.total) }
        if after.$attempt != before.$attempt { watch(.attempt, after.attempt) }
    }

    /// Replaces a timeout. The time of the new timeout is measured from the start of the old one.
    ///
    /// - Parameter count: The number of timeout settings that `limit` was computed from. If settings were added since
    ///   then, the caller that added them replaces the timeout, and this call does nothing.
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
        // This code may itself run under the old timeout. The old timeout then hands the code over to the new one.
        replaced?.retire(for: next)
        if let next { next.start { self.end(by: next) } }
    }

    /// Removes the attempt and total timeouts, because the response has switched to another protocol, whose connection
    /// they do not limit.
    package func retireDeadlines() {
        let deadlines = box.withLock { state in
            defer { state.deadlines = Deadlines() }
            return state.deadlines
        }
        deadlines.attempt?.retire(for: nil)
        deadlines.total?.retire(for: nil)
    }

    // MARK: Timing out

    func end(by deadline: Deadline) {
        switch deadline.scope {
        case .attempt: cutHop(by: deadline)
        case .total: end(byTotal: deadline.error)
        }
    }

    /// Ends the request. The error's stage is read in the same access to the state, so that the pipeline cannot change
    /// the stage in between.
    private func end(byTotal error: RequestError) {
        let action = box.withLock { state in
            // The record of the hop must show the timeout, and not the cancel by which the hop ends.
            if state.cancellation == nil { state.hop?.refuse(TransportError(.timedOut, error.message)) }
            return state.cancel(RequestError(wrapping: error, as: .timedOut, stage: state.stage))
        }
        act(on: action)
    }

    /// Cancels the hop in flight, if there is one. The hop then fails with the timeout's error, and so does the
    /// attempt.
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

    /// Cancels the hop if the attempt timed out before the hop began.
    func cutHopIfLate() {
        if let limit = read({ $0.deadlines.attempt }), limit.hasPassed { cutHop(by: limit) }
    }

    /// Returns the error for a failed hop: the timeout's error if the attempt's timeout ended the hop, otherwise the
    /// given error. If the total timeout has passed, ends the request and throws.
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
