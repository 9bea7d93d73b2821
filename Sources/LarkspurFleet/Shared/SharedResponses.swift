import Larkspur
internal import LarkspurAnnex

/// The second level of an HTTP cache in a store that several processes share.
///
///     let responses = SharedResponses(store, name: "shop", sealedBy: key)
///     configuration.cache = HTTPCache(shared: responses, limit: 64 << 20)
///
/// The rules are those of the cache: responses to requests with different credentials are kept apart, by a hash of the
/// credentials, and expire with the lifetime that the server gave them. If many processes need a response at once, one
/// of them asks the server under a lease, and the others wait for what it stores.
/// <doc:ManyProcesses> says what happens in each fault.
public final class SharedResponses: SharedCacheLevel {
    public let maximumSize: Int
    public let maximumLifetime: Duration

    private let store: any SharedStore
    private let prefix: String
    private let keys: [SealingKey]
    private let patience: Duration
    private let timeout: Duration
    private let clock: any Clock<Duration>
    private let watch: StopWatch
    private let state = Guarded(State())

    private struct State {
        /// The operations of the store that have not ended, also if no request waits for them any more.
        var running = 0
        /// The store is not asked before this time of the watch.
        var pauseEnd = Duration.zero
    }

    /// The maximum number of operations at once. With more of them, the store counts as slow.
    private static let maximumRunning = 256
    private static let pause = Duration.seconds(1)

    /// Creates a second level.
    ///
    /// - Parameters:
    ///   - name: The beginning of the names of all values and leases. Processes with equal names share responses.
    ///   - key: The key that seals responses; nil, the default, for none. Without a key, each reader of the store can
    ///     read the responses, and each writer can change them.
    ///   - older: Further keys that can open a stored response, while a key is replaced.
    ///   - maximumSize: The maximum size of a body in bytes; 256 KiB by default, and at most 63 MiB. Larger responses
    ///     are not shared.
    ///   - maximumLifetime: The maximum time for which a response is stored; one day by default.
    ///   - patience: The maximum time for which a request waits for the response to another process's request; 5
    ///     seconds by default. A lease lasts for a quarter of it, and is renewed.
    ///   - timeout: The maximum duration of an operation of the store; half a second by default.
    ///   - clock: The clock that measures these times in this process.
    public init(
        _ store: any SharedStore, name: String = "http", sealedBy key: SealingKey? = nil, or older: [SealingKey] = [],
        maximumSize: Int = 256 << 10, maximumLifetime: Duration = .seconds(86_400), patience: Duration = .seconds(5),
        timeout: Duration = .milliseconds(500), clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.store, prefix, self.patience, self.timeout) = (store, name + ":", patience, timeout)
        // A value of a store has a head, too.
        self.maximumSize = min(max(0, maximumSize), StoreRecord.maximumValue - (1 << 20))
        self.maximumLifetime = max(maximumLifetime, .milliseconds(1))
        keys = key.map { [$0] + older } ?? []
        (self.clock, watch) = (clock, StopWatch(clock))
    }

    // MARK: Values

    public func values(for names: [String]) async throws -> [Data?] {
        try await limited { [self] in
            try await withThrowingTaskGroup(of: (Int, Data?).self) { group in
                for (index, name) in names.enumerated() {
                    group.addTask { [self] in (index, try await value(for: prefix + name)) }
                }
                var values = [Data?](repeating: nil, count: names.count)
                for try await (index, value) in group { values[index] = value }
                return values
            }
        }
    }

    private func value(for name: String) async throws -> Data? {
        guard let stored = try await store.value(for: name) else { return nil }
        do {
            return try opened(stored, name)
        } catch {
            guard error.code == .damaged else { throw error }
            _ = try await store.removeValue(for: name, if: .isVersion(stored.version), under: nil)
            return nil
        }
    }

    /// Returns the content of a stored value; nil if another key has sealed it.
    private func opened(_ stored: StoredValue, _ name: String) throws(SealingError) -> Data? {
        guard !keys.isEmpty else { return stored.data }
        do {
            return try SealingKey.open(stored.data, for: name, by: keys)
        } catch {
            if error.code == .wrongKey { return nil }
            throw error
        }
    }

    /// The maximum number of changes by other processes that a value is read after.
    private static let maximumTries = 8

    public func value(for name: String, orStoring value: Data, lifetime: Duration) async throws -> Data {
        let name = prefix + name
        let sealed = try keys.first?.seal(value, for: name) ?? value
        return try await limited { [self] in
            for _ in 0..<Self.maximumTries {
                let stored = try await store.value(for: name)
                if let stored, let known = try? opened(stored, name) { return known }
                let condition = stored.map { StoreCondition.isVersion($0.version) } ?? .isAbsent
                let version = try await store.set(sealed, for: name, if: condition, lifetime: lifetime, under: nil)
                if version != nil { return value }
            }
            throw StoreError(.busy, "other processes with other keys change the stored value \(name) all the time")
        }
    }

    public func set(_ value: Data, for name: String, lifetime: Duration) async throws {
        let name = prefix + name
        let sealed = try keys.first?.seal(value, for: name) ?? value
        try await limited { [self] in _ = try await store.set(sealed, for: name, lifetime: lifetime) }
    }

    public func removeValue(for name: String) async throws {
        try await limited { [self] in try await store.removeValue(for: prefix + name) }
    }

    // MARK: Leases

    public func claim(
        _ name: String, unless isStored: @escaping @Sendable () async throws -> Bool
    ) async throws -> SharedCacheTurn? {
        let name = prefix + name
        if let turn = try await turn(name) { return turn }
        let start = watch.elapsed
        for await _ in wakeups(name) {
            if try await isStored() { return nil }
            if watch.elapsed - start >= patience { return nil }
            if let turn = try await turn(name) { return turn }
        }
        return nil
    }

    private func turn(_ name: String) async throws -> SharedCacheTurn? {
        // A lease that is taken after the timeout is not known here, and ends by itself.
        guard let lease = try await limited({ [self] in try await store.takeLease(name, for: patience / 4) }) else {
            return nil
        }
        let renewal = Task { [self] in await renew(lease) }
        return SharedCacheTurn { [self] in
            renewal.cancel()
            try? await limited { [self] in try await store.release(lease) }
        }
    }

    /// Renews a lease, which is short so that it ends soon after its process was killed.
    private func renew(_ lease: StoreLease) async {
        let start = watch.elapsed
        while (try? await clock.sleep(for: patience / 12)) != nil, watch.elapsed - start < patience {
            let isHeld = try? await limited { [self] in try await store.renew(lease, for: patience / 4) }
            guard isHeld == true else { return }
        }
    }

    /// Returns a sequence with an element at once, after each change of the value, and from time to time: the end of a
    /// lease is no change.
    private func wakeups(_ name: String) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { [self] continuation in
            let changes = Task { [store] in for await _ in store.changes(of: name) { continuation.yield() } }
            let interval = min(patience / 8, .milliseconds(250))
            let ticks = Task { [clock] in
                while (try? await clock.sleep(for: interval)) != nil { continuation.yield() }
            }
            continuation.onTermination = { _ in
                changes.cancel()
                ticks.cancel()
            }
        }
    }

    // MARK: Limits

    /// Runs an operation of the store. Throws after the timeout, also if the operation goes on.
    private func limited<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try begin()
        do {
            return try await Race.result(within: timeout, on: clock) { [state] in
                defer { state.withLock { $0.running -= 1 } }
                return try await operation()
            }
        } catch {
            state.withLock { $0.pauseEnd = watch.elapsed + Self.pause }
            throw error
        }
    }

    private func begin() throws(StoreError) {
        let now = watch.elapsed
        let isReady = state.withLock { state in
            guard now >= state.pauseEnd, state.running < Self.maximumRunning else { return false }
            state.running += 1
            return true
        }
        guard isReady else { throw StoreError(.unavailable, "the store has failed or is slow, and is not asked now") }
    }
}

extension SharedResponses: CustomStringConvertible, CustomReflectable {
    /// A description without the key.
    public var description: String { "SharedResponses(\(prefix.dropLast()))" }
    /// A mirror without children, because the store may contain responses.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
