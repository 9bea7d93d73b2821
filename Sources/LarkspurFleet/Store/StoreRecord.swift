import Larkspur

/// The state of one name of a store, and the rules of all operations. A store changes one record at a time.
struct StoreRecord: Sendable, Hashable {
    var value: Data?
    var version: UInt64 = 0
    /// The largest fencing number of a lease under which the value was changed.
    var fence: UInt64 = 0
    /// The sum of a counter.
    var count: Int64 = 0
    /// The holder of a lease; 0 if the lease is free.
    var holder: UInt64 = 0
    /// The fencing number of the last holder.
    var number: UInt64 = 0
    /// The end of the value, of the counter's window or of the lease; nil for no end.
    var end: Duration?

    static let maximumName = 1_024
    /// The maximum size of a value in bytes: 64 MiB.
    static let maximumValue = 64 << 20

    /// Whether the record has a value without a lifetime.
    var isLasting: Bool { value != nil && end == nil }

    private func hasEnded(at now: Duration) -> Bool { end.map { $0 <= now } ?? false }

    // MARK: Values

    func stored(at now: Duration) -> StoredValue? {
        hasEnded(at: now) ? nil : value.map { StoredValue($0, version: StoreVersion(number: version)) }
    }

    private func fulfils(_ condition: StoreCondition, at now: Duration) -> Bool {
        switch condition {
        case .always: true
        case .isAbsent: stored(at: now) == nil
        case .isVersion(let version): stored(at: now)?.version == version
        }
    }

    /// Changes the value if the condition holds. Returns whether it does.
    mutating func set(
        _ new: Data?, _ newVersion: StoreVersion, if condition: StoreCondition, lifetime: Duration?,
        under lease: StoreLease?, at now: Duration
    ) throws(StoreError) -> Bool {
        if let lease, lease.number < fence {
            throw Self.staleLease(lease.name)
        }
        guard fulfils(condition, at: now) else { return false }
        if let lease { fence = lease.number }
        // A removal ends at once: from then on, only the fencing number is kept, for a while.
        (value, version, end) = (new, newVersion.number, new == nil ? now : lifetime.map { now + $0 })
        return true
    }

    // MARK: Counters

    mutating func add(_ amount: Int64, window: Duration, at now: Duration) -> StoreCount {
        if end.map({ $0 <= now }) ?? true { (count, end) = (0, now + window) }
        let (sum, isOver) = count.addingReportingOverflow(amount)
        count = isOver ? (amount < 0 ? .min : .max) : sum
        return StoreCount(value: count, remaining: (end ?? now) - now)
    }

    // MARK: Leases

    mutating func take(_ name: String, for duration: Duration, at now: Duration) -> StoreLease? {
        guard holder == 0 || hasEnded(at: now) else { return nil }
        // Numbers are times, so they also grow if the record was forgotten.
        number = max(number + 1, UInt64(max(0, Date().timeIntervalSince1970 * 1_000_000)))
        (holder, end) = (.random(in: 1...(.max)), now + duration)
        return StoreLease(name: name, number: number, holder: holder)
    }

    /// A lease whose time has ended can be renewed as long as no other holder has taken it.
    mutating func renew(_ lease: StoreLease, for duration: Duration, at now: Duration) -> Bool {
        guard holder == lease.holder, number == lease.number else { return false }
        end = now + duration
        return true
    }

    mutating func release(_ lease: StoreLease, at now: Duration) {
        if holder == lease.holder, number == lease.number { (holder, end) = (0, now) }
    }

    // MARK: Forgetting

    /// The time for which fencing numbers are kept after their last use.
    private static let memory = Duration.seconds(7 * 86_400)

    /// Returns whether the record has nothing to remember. Later holders of a lease need the number of earlier ones,
    /// and later writers that of the last lease.
    func isForgettable(_ kind: RecordName.Kind, at now: Duration) -> Bool {
        switch kind {
        case .counter: hasEnded(at: now)
        case .value where fence == 0: value == nil || hasEnded(at: now)
        case .value, .lease: end.map { $0 + Self.memory <= now } ?? false
        }
    }
}

/// A value to store, with its lifetime; nil for no limit.
struct NewValue: Sendable {
    let data: Data
    let version = StoreVersion.random()
    let lifetime: Duration?
}

/// A store that sets and removes values in the same way.
protocol ValueStore: SharedStore {
    /// Replaces or removes a value. Returns false if the condition is not met.
    func change(
        _ key: String, to new: NewValue?, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool
}

extension ValueStore {
    public func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion? {
        try StoreRecord.check(value)
        if let lifetime { try StoreRecord.check(lifetime) }
        let new = NewValue(data: value, lifetime: lifetime)
        return try await change(key, to: new, if: condition, under: lease) ? new.version : nil
    }

    public func removeValue(
        for key: String, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool { try await change(key, to: nil, if: condition, under: lease) }
}

/// A store that keeps a record for each name, and changes one record at a time.
protocol RecordStore: ValueStore {
    /// Reads a record, or an empty one if there is none.
    func read(_ name: RecordName) async throws(StoreError) -> (StoreRecord, now: Duration)

    /// Changes a record. If the closure throws, the record stays as it is.
    func change<Result: Sendable>(
        _ name: RecordName,
        _ change: @escaping @Sendable (inout StoreRecord, Duration) -> Swift.Result<Result, StoreError>
    ) async throws(StoreError) -> Result
}

/// The name of a record: its kind, and the user's name.
struct RecordName: Sendable, Hashable {
    enum Kind: String, Sendable, CaseIterable { case value, counter, lease }

    let kind: Kind
    /// The name in UTF-8. Texts that are equal as strings can have different bytes, and are different names.
    let bytes: [UInt8]

    init(_ kind: Kind, _ text: String) throws(StoreError) {
        guard (1...StoreRecord.maximumName).contains(text.utf8.count) else {
            throw StoreError(.invalidInput, "a name of a store has 1 to 1,024 bytes; this one has \(text.utf8.count)")
        }
        (self.kind, bytes) = (kind, Array(text.utf8))
    }

    init(_ kind: Kind, bytes: [UInt8]) { (self.kind, self.bytes) = (kind, bytes) }
}

extension RecordStore {
    public func value(for key: String) async throws(StoreError) -> StoredValue? {
        let (record, now) = try await read(try RecordName(.value, key))
        return record.stored(at: now)
    }

    func change(
        _ key: String, to new: NewValue?, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool {
        try await change(RecordName(.value, key)) { record, now in
            Swift.Result { () throws(StoreError) in
                try record.set(
                    new?.data, new?.version ?? .random(), if: condition, lifetime: new?.lifetime, under: lease, at: now)
            }
        }
    }

    public func add(_ amount: Int64, to counter: String, window: Duration) async throws(StoreError) -> StoreCount {
        try StoreRecord.check(window)
        return try await change(RecordName(.counter, counter)) { .success($0.add(amount, window: window, at: $1)) }
    }

    public func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        try StoreRecord.check(duration)
        return try await change(RecordName(.lease, name)) { .success($0.take(name, for: duration, at: $1)) }
    }

    public func renew(_ lease: StoreLease, for duration: Duration) async throws(StoreError) -> Bool {
        try StoreRecord.check(duration)
        return try await change(RecordName(.lease, lease.name)) { .success($0.renew(lease, for: duration, at: $1)) }
    }

    public func release(_ lease: StoreLease) async throws(StoreError) {
        try await change(RecordName(.lease, lease.name)) { .success($0.release(lease, at: $1)) }
    }
}

extension StoreRecord {
    /// The maximum of a duration: a hundred years. Sums of times then stay within their range.
    private static let maximum = Duration.seconds(3_153_600_000)

    static func check(_ duration: Duration) throws(StoreError) {
        guard duration > .zero, duration <= maximum else {
            throw StoreError(.invalidInput, "a duration of a store is more than zero and at most a hundred years")
        }
    }

    static func check(_ value: Data) throws(StoreError) {
        guard value.count <= maximumValue else {
            throw StoreError(.invalidInput, "a value of a store has at most 64 MiB; this one has \(value.count) bytes")
        }
    }

    static func staleLease(_ name: String) -> StoreError {
        StoreError(
            .staleLease,
            "a later holder of the lease \(name) has changed the value; stop the work that needs the lease")
    }
}
