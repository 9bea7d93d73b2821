import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurCache
import LarkspurTesting

@testable import LarkspurFleet

/// A second level in memory, and processes whose caches share it.
final class PlainLevel: SharedCacheLevel {
    struct State: Sendable {
        var values: [String: Data] = [:]
        var lifetimes: [String: Duration] = [:]
        /// The number of calls of `set`, also of those that failed.
        var writes = 0
        /// Whether all calls of `set` fail.
        var refusesWrites = false
        /// The names of the rights that were asked for.
        var claims: [String] = []
        var held: Set<String> = []
        var requests: [TransportRequest] = []
    }

    let maximumSize = 1_000
    let maximumLifetime = Duration.seconds(1_000)
    /// The time in seconds since 1970.
    let time = Guarded(1_000_000.0)
    let state = Guarded(State())
    private let answer: @Sendable (TransportRequest) -> StubAnswer

    init(answer: @escaping @Sendable (TransportRequest) -> StubAnswer = { _ in CacheFleet.fresh() }) {
        self.answer = answer
    }

    var record: State { state.withLock { $0 } }

    /// The values that removals change.
    var generation: [String: Data] { record.values.filter { $0.key == "all" || $0.key.hasPrefix("url-") } }

    func refuseWrites(_ refuses: Bool) { state.withLock { $0.refusesWrites = refuses } }

    /// Creates a process whose cache tries removals again on the clock.
    func process(clock: any Clock<Duration> = ContinuousClock()) -> CacheFleet.Process {
        let cache = HTTPCache(
            LarkspurCache.MemoryStore(limit: 1 << 20, maximumEntrySize: .max), level: self,
            now: { [time] in time.withLock { $0 } }, clock: clock)
        let transport = StubTransport { [self] request in
            state.withLock { $0.requests.append(request) }
            return answer(request)
        }
        return CacheFleet.Process(
            session: Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport),
            cache: cache)
    }

    func values(for names: [String]) async throws -> [Data?] {
        state.withLock { state in names.map { state.values[$0] } }
    }

    func set(_ value: Data, for name: String, lifetime: Duration) async throws {
        try state.withLock { state in
            state.writes += 1
            if state.refusesWrites { throw StoreError(.unavailable, "the level takes no values") }
            (state.values[name], state.lifetimes[name]) = (value, lifetime)
        }
    }

    func removeValue(for name: String) async throws { state.withLock { $0.values[name] = nil } }

    func claim(
        _ name: String, unless isStored: nonisolated(nonsending) @escaping @Sendable () async throws -> Bool
    ) async throws -> SharedCacheTurn? {
        let isFree = state.withLock { state in
            state.claims.append(name)
            return state.held.insert(name).inserted
        }
        guard isFree else { return nil }
        return SharedCacheTurn { [self] in state.withLock { _ = $0.held.remove(name) } }
    }
}
