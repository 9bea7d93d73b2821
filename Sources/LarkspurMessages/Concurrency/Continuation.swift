/// A continuation of a task that waits for another thread.
///
/// Debug builds trap if a continuation is not resumed exactly once (rule R4 in Concurrency.md). Release builds do not
/// check this, because the check costs one allocation for each wait.
#if DEBUG
    @usableFromInline
    package struct Continuation<Value>: Sendable {
        @usableFromInline let continuation: CheckedContinuation<Value, Never>
        @usableFromInline let handover: Protected<Void>

        @inlinable
        init(_ continuation: CheckedContinuation<Value, Never>, _ handover: Protected<Void>) {
            self.continuation = continuation
            self.handover = handover
        }

        @inlinable
        package func resume(returning value: sending Value) {
            handover.withLock { _ in }
            continuation.resume(returning: value)
        }

        @inlinable
        package func resume() where Value == Void { resume(returning: ()) }
    }
#else
    @usableFromInline package typealias Continuation<Value> = UnsafeContinuation<Value, Never>
#endif

/// Passes a continuation to `body`, waits until the continuation is resumed with a value, and returns the value.
///
/// If the continuation is resumed before its task waits, the Swift runtime passes the value through an atomic variable.
/// The thread sanitizer does not recognise that variable and reports a false data race. Debug builds therefore take a
/// lock before the resume and after the wait. The sanitizer recognises the lock and reports no race.
@inlinable
package func suspended<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Continuation<Value>) -> Void
) async -> sending Value {
    #if DEBUG
        let handover = Protected<Void>(())
        let value = await withCheckedContinuation { body(Continuation($0, handover)) }
        handover.withLock { _ in }
        return value
    #else
        await withUnsafeContinuation(body)
    #endif
}

/// Waits like `suspended(_:)`, and calls `giveUp` if the task is cancelled before or during the wait. `giveUp` must
/// resume the continuation unless it was already resumed. `giveUp` can be called twice.
@inlinable
package func suspended<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Continuation<Value>) -> Void,
    onCancel giveUp: @Sendable () -> Void
) async -> Value {
    await withTaskCancellationHandler {
        // The isolation is passed explicitly; otherwise the closure would not be isolated to the actor.
        await suspended(isolation: isolation) { continuation in
            body(continuation)
            // The task may have been cancelled before `body` ran. In that case `giveUp` was called before the
            // continuation existed, so it is called again.
            if Task.isCancelled { giveUp() }
        }
    } onCancel: {
        giveUp()
    }
}
