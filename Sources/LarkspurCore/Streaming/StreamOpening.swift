/// The head of a stream's response, for tasks that wait for it. The head is known when the validators have accepted it.
final class StreamOpening: Sendable {
    typealias Outcome = Result<ResponseHead, RequestError>

    private struct State {
        var outcome: Outcome?
        var waiters: [UInt64: Continuation<Outcome>] = [:]
        var last: UInt64 = 0
    }

    private let box = Protected(State())

    /// Ends the wait. Later calls have no effect.
    func settle(_ outcome: Outcome) {
        let waiters = box.withLock { state -> [Continuation<Outcome>] in
            guard state.outcome == nil else { return [] }
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    /// Waits for the head. If the waiting task is cancelled, returns the error of a cancelled request.
    func wait() async -> Outcome {
        let number = box.withLock { state in
            state.last += 1
            return state.last
        }
        return await suspended { waiter in
            let outcome = box.withLock { state -> Outcome? in
                if state.outcome == nil { state.waiters[number] = waiter }
                return state.outcome
            }
            if let outcome { waiter.resume(returning: outcome) }
        } onCancel: {
            box.withLock { $0.waiters.removeValue(forKey: number) }?.resume(
                returning: .failure(.requestCancelled))
        }
    }
}
