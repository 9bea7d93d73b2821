/// How the library waits for what another thread will bring.
///
/// Debug builds check that each wait ends exactly once (R4) and trap if not; release builds do not pay for the check,
/// which costs an allocation a wait.
#if DEBUG
    typealias Suspension<Value> = CheckedContinuation<Value, Never>

    func suspended<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Suspension<Value>) -> Void
    ) async -> sending Value {
        await withCheckedContinuation(body)
    }
#else
    typealias Suspension<Value> = UnsafeContinuation<Value, Never>

    func suspended<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Suspension<Value>) -> Void
    ) async -> sending Value {
        await withUnsafeContinuation(body)
    }
#endif
