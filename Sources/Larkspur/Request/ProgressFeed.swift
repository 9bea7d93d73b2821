/// A progress that several follow: it only rises, whoever joins is told the latest first, and it ends once for all.
final class ProgressFeed: Sendable {
    private struct State {
        var latest: TransferProgress?
        var observers: [RequestFollower<TransferProgress>] = []
        var isOver = false
    }

    private let box = Protected(State())

    /// Called by one at a time, so values come in order.
    func advance(to completed: UInt64, of total: UInt64) {
        let news = box.withLock { state -> (TransferProgress, [RequestFollower<TransferProgress>])? in
            let progress = TransferProgress(completed: max(completed, state.latest?.completed ?? 0), total: total)
            guard progress != state.latest else { return nil }
            state.latest = progress
            return (progress, state.observers)
        }
        guard let (progress, observers) = news else { return }
        let gone = observers.filter { !$0.tell(progress) }
        guard !gone.isEmpty else { return }
        _ = box.withLock { state in
            state.observers.removeAll { observer in gone.contains { $0 === observer } }
            return gone  // to be let go of after unlocking
        }
    }

    func observe() -> AsyncStream<TransferProgress> {
        let (observer, stream) = RequestFollower<TransferProgress>.make(.bufferingNewest(1))
        // Told before it is added, and again if that was overtaken: so it never hears an older value after a newer.
        var told: TransferProgress?
        while true {
            let news = box.withLock { [told] state -> TransferProgress? in
                if told != state.latest { return state.latest }
                if !state.isOver { state.observers.append(observer) }
                return nil
            }
            guard let news else { return stream }
            _ = observer.tell(news)
            told = news
        }
    }

    func end() {
        let observers = box.withLock { state in
            defer { (state.observers, state.isOver) = ([], true) }
            return state.observers
        }
        for observer in observers { observer.end() }
    }
}
