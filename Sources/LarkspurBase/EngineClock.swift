/// A clock that a test moves forward, so that a timeout of an engine passes without a wait.
///
/// Between two moves, the clock runs with the system's clock. A test therefore uses limits of days: the delays of a
/// busy machine are far shorter, so only the test decides which limit has passed. An engine without such a clock uses
/// the system's clock alone.
package final class EngineClock: Sendable {
    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct State {
        var lead: UInt64 = 0
        var observers: [@Sendable () -> Void] = []
    }

    package init() {}

    /// The time in nanoseconds by which this clock is ahead of the system's clock.
    package var lead: UInt64 { box.withLock { $0.lead } }

    /// Adds a closure that is called after each move. It wakes an engine that sleeps until a deadline.
    package func onAdvance(_ act: @escaping @Sendable () -> Void) { box.withLock { $0.observers.append(act) } }

    /// Moves the clock forward, and wakes the engines that use it.
    package func advance(by duration: Duration) {
        let observers = box.withLock { state in
            state.lead += UInt64(duration / .nanoseconds(1))
            return state.observers
        }
        for act in observers { act() }
    }
}
