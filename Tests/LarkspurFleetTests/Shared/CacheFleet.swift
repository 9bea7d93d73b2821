import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurCache
import LarkspurTesting
import Testing

@testable import LarkspurFleet

/// A server, a store, and processes whose caches share the store.
final class CacheFleet: Sendable {
    struct Process: Sendable {
        let session: Session
        let cache: HTTPCache

        func get(
            _ path: String = "/", _ headers: HTTPHeaders = [:], timeout: Duration? = nil
        ) async -> DataResponse<String> {
            await session.request("http://h\(path)", headers: headers).timeout(.total(timeout))
                .serializingString().response
        }
    }

    let store: RecordingStore
    /// The time of all processes in seconds since 1970.
    let time = Guarded(1_000_000.0)
    private let base: any SharedStore
    private let state = Guarded([TransportRequest]())
    private let answer: @Sendable (TransportRequest) -> StubAnswer
    private let clock: any Clock<Duration>

    init(
        _ base: any SharedStore = LarkspurFleet.MemoryStore(), clock: any Clock<Duration> = ContinuousClock(),
        answer: @escaping @Sendable (TransportRequest) -> StubAnswer = { _ in CacheFleet.fresh() }
    ) {
        (self.base, self.clock, self.answer) = (base, clock, answer)
        store = RecordingStore(base)
    }

    /// The requests that the server has received.
    var requests: [TransportRequest] { state.withLock { $0 } }

    static func fresh(
        _ text: String = "text", _ control: String = "max-age=60", _ more: HTTPHeaders = [:]
    ) -> StubAnswer {
        var headers: HTTPHeaders = ["Cache-Control": control, "Content-Length": "\(text.utf8.count)"]
        for field in more { headers.update(field) }
        return .response(headers: headers, chunks: [Data(text.utf8)])
    }

    /// Creates a process. Its requests wait for others for a minute of the clock.
    func process(
        sealedBy key: SealingKey? = nil, size: Int = 1_000, lifetime: Duration = .seconds(1_000),
        clock levelClock: any Clock<Duration> = ContinuousClock(), timeout: Duration = .seconds(60)
    ) -> Process {
        let responses = SharedResponses(
            store, name: "test", sealedBy: key, maximumSize: size, maximumLifetime: lifetime, patience: .seconds(60),
            timeout: timeout, clock: levelClock)
        let cache = HTTPCache(
            LarkspurCache.MemoryStore(limit: 1 << 20, maximumEntrySize: .max), level: responses,
            now: { [time] in time.withLock { $0 } })
        let transport = StubTransport(clock: clock) { [self] request in
            state.withLock { $0.append(request) }
            return answer(request)
        }
        return Process(
            session: Session(configuration: SessionConfiguration { $0.cache = cache }, transport: transport),
            cache: cache)
    }
}

/// A store that notes its operations.
final class RecordingStore: ForwardingStore {
    struct Record: Sendable {
        var values: [String: Data] = [:]
        var lifetimes: [String: Duration] = [:]
        var removals: [String] = []
        var reads = 0
        var leases = 0
        var releases = 0
        var refusals = 0
        var renewals = 0
    }

    let base: any SharedStore
    private let state = Guarded(Record())

    init(_ base: any SharedStore) { self.base = base }

    var record: Record { state.withLock { $0 } }
    /// The names of the stored responses and of their lists.
    var responses: [String] { record.values.keys.filter { $0.contains("response-") || $0.contains("variant-") } }
    /// The values that removals change.
    var generations: [String: Data] { record.values.filter { $0.key == "test:all" || $0.key.contains("url-") } }

    func value(for key: String) async throws(StoreError) -> StoredValue? {
        state.withLock { $0.reads += 1 }
        return try await base.value(for: key)
    }

    func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion? {
        let version = try await base.set(value, for: key, if: condition, lifetime: lifetime, under: lease)
        state.withLock { ($0.values[key], $0.lifetimes[key]) = (value, lifetime) }
        return version
    }

    func removeValue(
        for key: String, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool {
        state.withLock { $0.removals.append(key) }
        return try await base.removeValue(for: key, if: condition, under: lease)
    }

    func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        let lease = try await base.takeLease(name, for: duration)
        state.withLock { if lease == nil { $0.refusals += 1 } else { $0.leases += 1 } }
        return lease
    }

    func renew(_ lease: StoreLease, for duration: Duration) async throws(StoreError) -> Bool {
        let isHeld = try await base.renew(lease, for: duration)
        state.withLock { if isHeld { $0.renewals += 1 } }
        return isHeld
    }

    func release(_ lease: StoreLease) async throws(StoreError) {
        try await base.release(lease)
        state.withLock { $0.releases += 1 }
    }
}

/// A store that answers no question before its gate is opened.
final class SlowStore: ForwardingStore {
    let base: any SharedStore = LarkspurFleet.MemoryStore()
    let gate = Gate()

    func value(for key: String) async throws(StoreError) -> StoredValue? {
        await gate.pass()
        return try await base.value(for: key)
    }

    func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion? {
        await gate.pass()
        return try await base.set(value, for: key, if: condition, lifetime: lifetime, under: lease)
    }

    func removeValue(
        for key: String, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool {
        await gate.pass()
        return try await base.removeValue(for: key, if: condition, under: lease)
    }

    func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        await gate.pass()
        return try await base.takeLease(name, for: duration)
    }
}
