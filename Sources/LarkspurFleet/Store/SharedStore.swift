import Larkspur

/// A store that several processes, or several machines, share: values with a lifetime, counters and leases.
///
/// | store | shared by |
/// |---|---|
/// | ``MemoryStore`` | the tasks of one process; for tests |
/// | ``FileStore`` | the processes of one machine |
/// | ``ValkeyStore`` | the processes of many machines |
///
/// Every function is atomic: no process sees a part of a change, also if another process is killed in the middle of it.
/// A function that throws has changed nothing, except with `.unavailable`, where the outcome is not known.
///
/// Values, counters and leases have names of their own: a value `a` and a lease `a` are independent. A name has 1 to
/// 1,024 bytes.
public protocol SharedStore: Sendable {
    /// Returns the value; nil if there is none, or its lifetime has ended.
    func value(for key: String) async throws(StoreError) -> StoredValue?

    /// Stores a value. Returns its version.
    ///
    /// - Parameters:
    ///   - condition: The state that the key must have. If it has another one, the value is not stored, and the result
    ///     is nil.
    ///   - lifetime: The time after which the value is removed; nil for no limit.
    ///   - lease: The lease that the writer holds. Once a later holder of the same lease has written to this key, the
    ///     writes of earlier holders fail with `.staleLease`, also if these holders were stopped and know nothing of it.
    func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion?

    /// Removes a value. Returns whether the condition held. Removing a missing value is not an error.
    func removeValue(
        for key: String, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool

    /// Adds an amount to a counter, which begins at zero with each window. The first addition begins a window.
    func add(_ amount: Int64, to counter: String, window: Duration) async throws(StoreError) -> StoreCount

    /// Takes a lease, which ends after the duration unless it is renewed. Returns nil if another holder has it.
    func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease?

    /// Lets the lease last for another duration from now, also if its time has ended and no other holder has taken it.
    /// Returns false if another holder has taken it meanwhile; the caller must then stop its work.
    func renew(_ lease: StoreLease, for duration: Duration) async throws(StoreError) -> Bool

    /// Gives the lease up, if it is still held.
    func release(_ lease: StoreLease) async throws(StoreError)

    /// Returns a sequence with an element after each change of a value. Quick changes can be one element. The
    /// sequence begins with an element at once, so that no change before the first is missed. It never ends by itself.
    func changes(of key: String) -> AsyncStream<Void>
}

extension SharedStore {
    /// Stores a value, whatever the key had before.
    @discardableResult
    public func set(_ value: Data, for key: String, lifetime: Duration? = nil) async throws(StoreError) -> StoreVersion
    {
        let version = try await set(value, for: key, if: .always, lifetime: lifetime, under: nil)
        guard let version else {
            throw StoreError(.unavailable, "the store has not stored a value without a condition")
        }
        return version
    }

    /// Removes a value.
    public func removeValue(for key: String) async throws(StoreError) {
        _ = try await removeValue(for: key, if: .always, under: nil)
    }
}

/// A value of a store.
public struct StoredValue: Sendable, Hashable {
    /// The bytes.
    public let data: Data
    /// The version, for ``StoreCondition/isVersion(_:)``.
    public let version: StoreVersion

    /// Creates a value.
    public init(_ data: Data, version: StoreVersion) { (self.data, self.version) = (data, version) }
}

/// The identity of a stored value. Each time a value is stored, it has a new version, also if the bytes are the same.
public struct StoreVersion: Sendable, Hashable {
    /// The number, which has no order.
    public let number: UInt64

    /// Creates a version.
    public init(number: UInt64) { self.number = number }

    static func random() -> StoreVersion { StoreVersion(number: .random(in: 1...(.max))) }
}

/// A condition for a change of a value.
public enum StoreCondition: Sendable, Hashable {
    /// No condition.
    case always
    /// The key has no value.
    case isAbsent
    /// The value has this version.
    case isVersion(StoreVersion)
}

/// The state of a counter after an addition.
public struct StoreCount: Sendable, Hashable {
    /// The sum of the amounts in this window.
    public let value: Int64
    /// The time until the window ends.
    public let remaining: Duration

    /// Creates a count.
    public init(value: Int64, remaining: Duration) { (self.value, self.remaining) = (value, remaining) }
}

/// The right of one holder to do something, such as the refresh of a token.
public struct StoreLease: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The fencing number. Each holder of a lease has a larger number than the holders before.
    public let number: UInt64
    /// The secret by which the store knows the holder.
    let holder: UInt64

    /// Creates a lease, for stores of your own.
    public init(name: String, number: UInt64, holder: UInt64) {
        (self.name, self.number, self.holder) = (name, number, holder)
    }
}
