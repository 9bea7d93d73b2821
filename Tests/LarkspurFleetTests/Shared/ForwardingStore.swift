import Foundation

@testable import LarkspurFleet

/// A store that passes on what a test's store does not implement itself.
protocol ForwardingStore: SharedStore {
    var base: any SharedStore { get }
}

extension ForwardingStore {
    func value(for key: String) async throws(StoreError) -> StoredValue? { try await base.value(for: key) }

    func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion? {
        try await base.set(value, for: key, if: condition, lifetime: lifetime, under: lease)
    }

    func removeValue(
        for key: String, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool { try await base.removeValue(for: key, if: condition, under: lease) }

    func add(_ amount: Int64, to counter: String, window: Duration) async throws(StoreError) -> StoreCount {
        try await base.add(amount, to: counter, window: window)
    }

    func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        try await base.takeLease(name, for: duration)
    }

    func renew(_ lease: StoreLease, for duration: Duration) async throws(StoreError) -> Bool {
        try await base.renew(lease, for: duration)
    }

    func release(_ lease: StoreLease) async throws(StoreError) { try await base.release(lease) }

    func changes(of key: String) -> AsyncStream<Void> { base.changes(of: key) }
}
