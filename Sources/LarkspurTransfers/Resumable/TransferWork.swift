/// The task of a transfer of several requests, with the transfer's progress and the tasks that await its value.
///
/// The task is unstructured, because a transfer continues even if no task awaits its value.
final class TransferWork<Value: Sendable>: Sendable {
    private typealias Outcome = Result<Value, any Error>
    private typealias Waiter = Continuation<Outcome>

    private enum Phase {
        case idle
        /// The task is nil until `start` has created it. A cancel in the meantime cancels the task when it exists.
        case running(Task<Void, Never>?, isCancelled: Bool)
        case finished(Outcome)
    }

    private struct State {
        var phase = Phase.idle
        var waiters: [UInt64: Waiter] = [:]
        var waiterNumber: UInt64 = 0
    }

    // Immutable
    let feed = ProgressFeed()
    /// Whether a cancelled transfer ends together with its task. Otherwise it ends at once.
    private let endsWithTask: Bool

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    init(endsWithTask: Bool) { self.endsWithTask = endsWithTask }

    /// Returns a sequence of the progress. Iterating it calls `start`.
    func progress(startingWith start: @escaping @Sendable () -> Void) -> RequestSequence<TransferProgress> {
        RequestSequence(following: { [feed] in
            defer { start() }
            return feed.observe()
        })
    }

    /// Calls `start` and waits for the transfer's value. If the waiting task is cancelled and no other task waits, the
    /// transfer is cancelled.
    func value(startingWith start: () -> Void) async throws -> Value {
        let number = box.withLock { state in
            state.waiterNumber += 1
            return state.waiterNumber
        }
        let outcome = await suspended { (waiter: Waiter) in
            let known = box.withLock { state -> Outcome? in
                if case .finished(let outcome) = state.phase { return outcome }
                state.waiters[number] = waiter
                return nil
            }
            if let known { return waiter.resume(returning: known) }
            if !Task.isCancelled { start() }
        } onCancel: {
            giveUp(number)
        }
        return try outcome.get()
    }

    /// Starts the task, unless the transfer has started or ended.
    func start(_ work: @escaping @Sendable () async throws -> Value) {
        let starts = box.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .running(nil, isCancelled: false)
            return true
        }
        guard starts else { return }
        let task = Task {
            do { finish(.success(try await work())) } catch {
                let isCancelled = error is CancellationError || (error as? RequestError)?.isCancelled == true
                finish(.failure(isCancelled ? CancellationError() : error))
            }
        }
        let isOver = box.withLock { state in
            guard case .running(_, let isCancelled) = state.phase else { return true }
            state.phase = .running(task, isCancelled: isCancelled)
            return isCancelled
        }
        if isOver { task.cancel() }
    }

    func cancel() {
        let (task, isRunning) = box.withLock { state -> (Task<Void, Never>?, Bool) in
            guard case .running(let task, _) = state.phase else { return (nil, false) }
            state.phase = .running(task, isCancelled: true)
            return (task, true)
        }
        task?.cancel()
        if !isRunning || !endsWithTask { finish(.failure(CancellationError())) }
    }

    /// Ends the wait of one task. If the transfer ends with its task, the last waiting task waits for that end.
    private func giveUp(_ number: UInt64) {
        let (waiter, isLast) = box.withLock { state -> (Waiter?, Bool) in
            guard let waiter = state.waiters[number] else { return (nil, false) }
            let isLast = state.waiters.count == 1
            if isLast, endsWithTask { return (nil, true) }
            state.waiters[number] = nil
            return (waiter, isLast)
        }
        if isLast { cancel() }
        waiter?.resume(returning: .failure(CancellationError()))
    }

    /// Ends the transfer once, and resumes every waiting task exactly once (rule R4 in Concurrency.md).
    private func finish(_ outcome: Outcome) {
        let waiters = box.withLock { state -> [Waiter]? in
            if case .finished = state.phase { return nil }
            defer { (state.phase, state.waiters) = (.finished(outcome), [:]) }
            return Array(state.waiters.values)
        }
        guard let waiters else { return }
        feed.end()
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}
