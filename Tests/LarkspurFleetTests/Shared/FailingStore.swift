import Foundation
import LarkspurAnnex

@testable import LarkspurFleet

/// A store whose next operations fail.
final class FailingStore: SharedStore {
    private let base: any SharedStore
    private let failures: Guarded<Int>

    init(_ base: any SharedStore, failures: Int) { (self.base, self.failures) = (base, Guarded(failures)) }

    /// Lets the next operations fail.
    func failNext(_ count: Int) { failures.withLock { $0 = count } }

    private func check() throws(StoreError) {
        let fails = failures.withLock { count in
            count -= 1
            return count >= 0
        }
        if fails { throw StoreError(.unavailable, "the store is not there") }
    }

    func value(for key: String) async throws(StoreError) -> StoredValue? {
        try check()
        return try await base.value(for: key)
    }

    func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion? {
        try check()
        return try await base.set(value, for: key, if: condition, lifetime: lifetime, under: lease)
    }

    func removeValue(
        for key: String, if condition: StoreCondition, under lease: StoreLease?
    ) async throws(StoreError) -> Bool {
        try check()
        return try await base.removeValue(for: key, if: condition, under: lease)
    }

    func add(_ amount: Int64, to counter: String, window: Duration) async throws(StoreError) -> StoreCount {
        try check()
        return try await base.add(amount, to: counter, window: window)
    }

    func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        try check()
        return try await base.takeLease(name, for: duration)
    }

    func renew(_ lease: StoreLease, for duration: Duration) async throws(StoreError) -> Bool {
        try check()
        return try await base.renew(lease, for: duration)
    }

    func release(_ lease: StoreLease) async throws(StoreError) {
        try check()
        try await base.release(lease)
    }

    func changes(of key: String) -> AsyncStream<Void> { base.changes(of: key) }
}
