internal import LarkspurAnnex

/// The first result of two tasks.
final class Race<Success: Sendable>: Sendable {
    private enum State {
        case running
        case waiting(CheckedContinuation<Success, any Error>)
        case ended(Result<Success, any Error>)
    }

    private let state = Guarded(State.running)

    func end(_ result: Result<Success, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Success, any Error>? in
            switch state {
            case .running: state = .ended(result)
            case .waiting(let waiter):
                state = .ended(result)
                return waiter
            case .ended: break
            }
            return nil
        }
        waiter?.resume(with: result)
    }

    func result() async throws -> Success {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<Success, any Error>? in
                if case .ended(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }

    /// Returns the result of a store's operation. Throws after the timeout, also if the operation goes on.
    static func result(
        within timeout: Duration, on clock: any Clock<Duration>,
        of operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        let race = Race()
        // Unstructured tasks, because a structured one would be waited for.
        let work = Task {
            do { race.end(.success(try await operation())) } catch { race.end(.failure(error)) }
        }
        let timer = Task {
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            race.end(.failure(StoreError(.unavailable, "the store has not answered within \(timeout.rounded)")))
            work.cancel()
        }
        defer { timer.cancel() }
        return try await race.result()
    }
}
