/// The head of a stream's response, for tasks that wait for it. The head is known when the validators have accepted it.
///
/// A task that has the head reads the bytes of this response. Therefore another attempt can follow only as long as no
/// task has the head.
final class StreamOpening: Sendable {
    typealias Outcome = Result<ResponseHead, RequestError>

    private struct State {
        var outcome: Outcome?
        /// Whether a task has the head.
        var isTaken = false
        /// The head of the last attempt, while the retriers decide whether another one follows.
        var earlier: ResponseHead?
        var waiters: [UInt64: Continuation<Outcome>] = [:]
        var last: UInt64 = 0
    }

    private let box = Protected(State())

    /// Ends the wait with the head of a response.
    func settle(_ head: ResponseHead) { settle { _ in .success(head) } }

    /// Ends the wait at the end of the request. Has no effect if the head is known.
    func end(_ error: RequestError?) {
        settle { state in
            if error == nil, let head = state.earlier { return .success(head) }
            return .failure(error ?? .requestCancelled)
        }
    }

    /// Prepares for the head of another attempt. Returns false if a task has the head of the last one.
    func reopen() -> Bool {
        box.withLock { state in
            guard !state.isTaken else { return false }
            if case .success(let head) = state.outcome { (state.outcome, state.earlier) = (nil, head) }
            return true
        }
    }

    private func settle(_ result: (State) -> Outcome) {
        let (waiters, outcome) = box.withLock { state -> ([Continuation<Outcome>], Outcome) in
            if let outcome = state.outcome { return ([], outcome) }
            let outcome = result(state)
            state.outcome = outcome
            state.isTaken = !state.waiters.isEmpty
            defer { state.waiters = [:] }
            return (Array(state.waiters.values), outcome)
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
                if state.outcome == nil { state.waiters[number] = waiter } else { state.isTaken = true }
                return state.outcome
            }
            if let outcome { waiter.resume(returning: outcome) }
        } onCancel: {
            box.withLock { $0.waiters.removeValue(forKey: number) }?.resume(
                returning: .failure(.requestCancelled))
        }
    }
}
