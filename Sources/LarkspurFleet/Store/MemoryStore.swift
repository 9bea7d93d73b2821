import Larkspur
internal import LarkspurAnnex

/// A store in the memory of the process, for tests and for programs of one process.
public final class MemoryStore: RecordStore {
    private struct State {
        var records: [RecordName: StoreRecord] = [:]
        var watchers: [RecordName: [UInt64: AsyncStream<Void>.Continuation]] = [:]
        var lastWatcher: UInt64 = 0
        var sweepAt = 1_000
    }

    /// The number of records, with those that have ended lately.
    var count: Int { state.withLock { $0.records.count } }

    private let state = Guarded(State())
    private let now: @Sendable () -> Duration

    /// Creates an empty store.
    public convenience init() { self.init(now: StoreTime.sinceBoot) }

    init(now: @escaping @Sendable () -> Duration) { self.now = now }

    func read(_ name: RecordName) async throws(StoreError) -> (StoreRecord, now: Duration) {
        (state.withLock { $0.records[name] } ?? StoreRecord(), now())
    }

    func change<Result: Sendable>(
        _ name: RecordName,
        _ change: @escaping @Sendable (inout StoreRecord, Duration) -> Swift.Result<Result, StoreError>
    ) async throws(StoreError) -> Result {
        let (result, watchers) = state.withLock { state in
            let before = state.records[name] ?? StoreRecord()
            var record = before
            let result = change(&record, now())
            guard case .success = result, record != before else {
                return (result, [AsyncStream<Void>.Continuation]())
            }
            state.records[name] = record
            if state.records.count >= state.sweepAt {
                let now = now()
                state.records = state.records.filter { !$0.value.isForgettable($0.key.kind, at: now) }
                state.sweepAt = max(1_000, 2 * state.records.count)
            }
            return (result, Array((state.watchers[name] ?? [:]).values))
        }
        for watcher in watchers { watcher.yield() }
        return try result.get()
    }

    public func changes(of key: String) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield()
            guard let name = try? RecordName(.value, key) else { return }
            let number = state.withLock { state in
                state.lastWatcher += 1
                state.watchers[name, default: [:]][state.lastWatcher] = continuation
                return state.lastWatcher
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { state in
                    state.watchers[name]?[number] = nil
                    if state.watchers[name]?.isEmpty == true { state.watchers[name] = nil }
                }
            }
        }
    }
}
