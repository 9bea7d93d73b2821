/// The time of an attempt while its hop waits for an admission.
extension RequestCore {
    /// Stops the time of the attempt while the hop waits for its admission.
    func adjustAttemptTimeout(to part: AdmissionEvent, of task: TransportTaskID) {
        switch part {
        case .waits:
            guard let deadline = read({ $0.deadlines.attempt }) else { return }
            let paused = PausedDeadline(deadline)
            let isPaused = box.withLock { state in
                guard state.hop?.id == task, state.deadlines.attempt === deadline else { return false }
                (state.deadlines.attempt, state.deadlines.paused) = (nil, paused)
                return true
            }
            if isPaused { deadline.retire(for: nil) }
        case .admitted:
            guard let paused = read({ $0.hop?.id == task ? $0.deadlines.paused : nil }) else { return }
            let clock = context.configuration.clock
            if clock is ContinuousClock || clock is SuspendingClock { return resumeAttempt(paused) }
            // This may be a thread of the transport, which must not call a clock of the user, so the time goes on in a
            // task (rule R2 in Concurrency.md).
            Task.detached { self.resumeAttempt(paused) }
        }
    }

    /// Continues the attempt's timeout, also if the hop has ended meanwhile: it covers all hops of the attempt.
    private func resumeAttempt(_ paused: PausedDeadline) {
        let next = Deadline(continuing: paused)
        let isKept = box.withLock { state in
            guard state.deadlines.paused?.deadline === paused.deadline, state.isWithPipeline,
                state.deadlines.attempt == nil
            else { return false }
            (state.deadlines.attempt, state.deadlines.paused) = (next, nil)
            return true
        }
        if isKept { next.start { self.end(by: next) } }
    }
}

extension Deadlines {
    /// Removes and returns the timeout of the attempt, which has ended.
    mutating func takeAttempt() -> Deadline? {
        paused = nil
        return attempt.take()
    }
}
