/// A point at which tasks wait until a test opens it.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Observed(State())

    public init() {}

    /// A gate that is already open.
    public static var opened: Gate {
        let gate = Gate()
        gate.open()
        return gate
    }

    /// Opens the gate. It may be opened before a task arrives.
    public func open() { state.change { $0.isOpen = true } }

    /// Waits until the gate is open. A cancel does not end the wait, like code that ignores cancellation.
    public func pass() async {
        state.change { $0.arrivals += 1 }
        await state.waitUncancelled { $0.isOpen }
    }

    /// Waits until the gate is open, or the task is cancelled.
    public func passUnlessCancelled() async throws {
        state.change { $0.arrivals += 1 }
        try await state.wait { $0.isOpen }
    }

    /// Waits until so many tasks have reached the gate, whether it is open or not.
    public func arrived(_ count: Int = 1) async { await state.waitUncancelled { $0.arrivals >= count } }

    /// Waits until a task has reached the gate, or the waiting task is cancelled.
    public func reached() async throws { try await state.wait { $0.arrivals > 0 } }

    /// Waits until the gate is open, without passing it.
    public func opened() async throws { try await state.wait { $0.isOpen } }
}

/// A counter for any thread. Tests can wait for a value.
public final class Counter: Sendable {
    private let count = Observed(0)

    public init() {}

    public var value: Int { count.value }

    @discardableResult
    public func increment() -> Int {
        var value = 0
        count.change {
            $0 += 1
            value = $0
        }
        return value
    }

    /// Waits until the counter has reached this value.
    public func reached(_ value: Int) async { await count.waitUncancelled { $0 >= value } }
}
