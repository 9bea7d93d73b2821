/// How the library waits for what another thread will bring.
///
/// Debug builds check that each wait ends exactly once (R4) and trap if not; release builds do not pay for the check,
/// which costs an allocation a wait.
#if DEBUG
    package struct Suspension<Value>: Sendable {
        private let continuation: CheckedContinuation<Value, Never>
        private let handover: Protected<Void>

        fileprivate init(_ continuation: CheckedContinuation<Value, Never>, _ handover: Protected<Void>) {
            self.continuation = continuation
            self.handover = handover
        }

        package func resume(returning value: sending Value) {
            handover.withLock { _ in }
            continuation.resume(returning: value)
        }

        package func resume() where Value == Void { resume(returning: ()) }
    }
#else
    package typealias Suspension<Value> = UnsafeContinuation<Value, Never>
#endif

/// Waits until `body`'s continuation is resumed.
///
/// A continuation that is resumed while its task is about to wait hands the value over by an atomic of the Swift runtime, which
/// the thread sanitizer does not see: it reports a race between the thread that made the value and the task that reads it. So
/// debug builds take a lock on both sides, which the sanitizer does see.
func suspended<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Suspension<Value>) -> Void
) async -> sending Value {
    #if DEBUG
        let handover = Protected<Void>(())
        let value = await withCheckedContinuation { body(Suspension($0, handover)) }
        handover.withLock { _ in }
        return value
    #else
        await withUnsafeContinuation(body)
    #endif
}

/// The same for a wait that a cancel ends: `giveUp` is called then, in whatever order the two come.
package func suspended<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Suspension<Value>) -> Void,
    onCancel giveUp: @Sendable () -> Void
) async -> Value {
    await withTaskCancellationHandler {
        // Named, or the closure would not belong to the actor.
        await suspended(isolation: isolation) { continuation in
            body(continuation)
            // A cancel that came before has found nobody waiting.
            if Task.isCancelled { giveUp() }
        }
    } onCancel: {
        giveUp()
    }
}
