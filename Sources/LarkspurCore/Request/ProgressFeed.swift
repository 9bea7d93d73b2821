/// A progress that several observers receive. The number of completed bytes never decreases, unless the total does. A
/// new observer first gets the latest value. `end` ends the streams of all observers.
package final class ProgressFeed: Sendable {
    private struct State {
        var latest: TransferProgress?
        var observers = Broadcast<TransferProgress>()
    }

    private let box = Protected(State())

    package init() {}

    /// Sends a new value to the observers. Only one call may run at a time, so that the values arrive in order.
    package func advance(to completed: UInt64, of total: UInt64?) {
        box.withLock { state in
            let completed = min(max(completed, state.latest?.completed ?? 0), total ?? .max)
            let progress = TransferProgress(completed: completed, total: total)
            guard progress != state.latest else { return }
            state.latest = progress
            state.observers.send(progress)
        }
        box.deliver(\.observers)
    }

    /// Sends the latest value again, for observers that look at more than the progress when they get a value.
    package func repeatLatest() {
        box.withLock { state in
            if let latest = state.latest { state.observers.send(latest) }
        }
        box.deliver(\.observers)
    }

    package func observe() -> AsyncStream<TransferProgress> {
        let (observer, stream) = Follower<TransferProgress>.make(.bufferingNewest(1))
        box.withLock { $0.observers.add(observer, first: $0.latest) }
        box.deliver(\.observers)
        return stream
    }

    package func end() { _ = box.withLock { $0.observers.end() } }
}
