import LarkspurBase

/// A value that tests wait on. Each change evaluates the conditions of the waiting tests.
///
/// A wait ends with `CancellationError` when its task is cancelled, so a test that waits in vain ends with its time
/// limit.
public final class Observed<Value: Sendable>: Sendable {
    private typealias Outcome = Result<Value, CancellationError>

    private struct Watcher: Sendable {
        let number: Int
        let isReached: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State: Sendable {
        var value: Value
        var numbers = 0
        var watchers: [Watcher] = []

        mutating func takeReady() -> [Watcher] {
            guard !watchers.isEmpty else { return [] }
            let value = value
            let ready = watchers.filter { $0.isReached(value) }
            if !ready.isEmpty { watchers.removeAll { watcher in ready.contains { $0.number == watcher.number } } }
            return ready
        }
    }

    private let box: Protected<State>

    public init(_ value: Value) {
        box = Protected(State(value: value))
    }

    public var value: Value { box.withLock { $0.value } }

    public func change(_ body: (inout Value) -> Void) {
        let (ready, value) = box.withLock { state in
            body(&state.value)
            return (state.takeReady(), state.value)
        }
        for watcher in ready { watcher.continuation.resume(returning: .success(value)) }
    }

    /// Returns the value at the time when it first fulfilled the condition.
    @discardableResult
    public func wait(until isReached: @escaping @Sendable (Value) -> Bool) async throws -> Value {
        let number = nextNumber()
        return try await withTaskCancellationHandler {
            await outcome(number, endsWithTask: true, isReached)
        } onCancel: {
            giveUp(number)
        }.get()
    }

    /// Returns when the value fulfils the condition. A cancel does not end the wait.
    public func waitUncancelled(until isReached: @escaping @Sendable (Value) -> Bool) async {
        _ = await outcome(nextNumber(), endsWithTask: false, isReached)
    }

    private func nextNumber() -> Int {
        box.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }

    private func outcome(
        _ number: Int, endsWithTask: Bool, _ isReached: @escaping @Sendable (Value) -> Bool
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            let reached = box.withLock { state -> Value? in
                if isReached(state.value) { return state.value }
                state.watchers.append(Watcher(number: number, isReached: isReached, continuation: continuation))
                return nil
            }
            if let reached {
                continuation.resume(returning: .success(reached))
            } else if endsWithTask, Task.isCancelled {
                giveUp(number)
            }
        }
    }

    private func giveUp(_ number: Int) {
        let watcher = box.withLock { state in
            state.watchers.firstIndex { $0.number == number }.map { state.watchers.remove(at: $0) }
        }
        watcher?.continuation.resume(returning: .failure(CancellationError()))
    }
}
