/// A progress that several observers receive. The number of completed bytes never decreases. A new observer first gets
/// the latest value. `end` ends the streams of all observers.
package final class ProgressFeed: Sendable {
    private struct State {
        var latest: TransferProgress?
        var observers: [RequestFollower<TransferProgress>] = []
        var isOver = false
    }

    private let box = Protected(State())

    package init() {}

    /// Sends a new value to the observers. Only one call may run at a time, so that the values arrive in order.
    package func advance(to completed: UInt64, of total: UInt64?) {
        let change = box.withLock { state -> (TransferProgress, [RequestFollower<TransferProgress>])? in
            let progress = TransferProgress(completed: max(completed, state.latest?.completed ?? 0), total: total)
            guard progress != state.latest else { return nil }
            state.latest = progress
            return (progress, state.observers)
        }
        if let (progress, observers) = change { tell(progress, observers) }
    }

    /// Sends the latest value again, for observers that look at more than the progress when they get a value.
    package func repeatLatest() {
        let (latest, observers) = box.withLock { ($0.latest, $0.observers) }
        if let latest { tell(latest, observers) }
    }

    private func tell(_ progress: TransferProgress, _ observers: [RequestFollower<TransferProgress>]) {
        let gone = observers.filter { !$0.tell(progress) }
        guard !gone.isEmpty else { return }
        _ = box.withLock { state in
            state.observers.removeAll { observer in gone.contains { $0 === observer } }
            return gone  // released after unlocking
        }
    }

    package func observe() -> AsyncStream<TransferProgress> {
        let (observer, stream) = RequestFollower<TransferProgress>.make(.bufferingNewest(1))
        // Send the latest value before adding the observer. If a newer value has arrived in the meantime, send this
        // value too and check again. The observer therefore never gets an older value after a newer value.
        var sent: TransferProgress?
        while true {
            let missed = box.withLock { [sent] state -> TransferProgress? in
                if sent != state.latest { return state.latest }
                if !state.isOver { state.observers.append(observer) }
                return nil
            }
            guard let missed else { return stream }
            _ = observer.tell(missed)
            sent = missed
        }
    }

    package func end() {
        let observers = box.withLock { state in
            defer { (state.observers, state.isOver) = ([], true) }
            return state.observers
        }
        for observer in observers { observer.end() }
    }
}
