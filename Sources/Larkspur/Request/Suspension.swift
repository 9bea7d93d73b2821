/// How the library waits for what another thread will bring.
///
/// Debug builds check that each wait ends exactly once (R4) and trap if not; release builds do not pay for the check,
/// which costs an allocation a wait.
#if DEBUG
    package typealias Suspension<Value> = CheckedContinuation<Value, Never>
#else
    package typealias Suspension<Value> = UnsafeContinuation<Value, Never>
#endif

func suspended<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Suspension<Value>) -> Void
) async -> sending Value {
    #if DEBUG
        await withCheckedContinuation(body)
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
