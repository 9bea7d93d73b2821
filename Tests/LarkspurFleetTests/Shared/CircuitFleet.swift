import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

/// A server, a store, and processes whose circuits share the store. All of them have one time, which a test advances.
final class CircuitFleet: Sendable {
    struct Process: Sendable {
        let session: Session
        let breaker: SharedCircuitBreaker

        /// Sends a request. Returns the status, or the code of the error.
        func get(_ origin: String = "http://h") async -> String {
            let response = await session.request(origin + "/").serializingData().response
            return response.error?.code.rawValue ?? "\(response.head?.status ?? 0)"
        }

        func state(_ origin: String = "http://h") -> CircuitBreaker.State { breaker.breaker.state(of: origin) }
        func isOpen(_ origin: String = "http://h") -> Bool { if case .open = state(origin) { true } else { false } }
    }

    static let pause = Duration.seconds(10)

    let tested: TestedStore
    let clock = ManualClock()
    let sent = Guarded(0)
    let answer = Guarded<StubAnswer>(.text("no", status: 503))

    init(_ kind: TestedStore.Kind = .memory) throws { tested = try TestedStore(kind) }

    func advance(by duration: Duration) {
        tested.time.advance(by: duration)
        clock.advance(by: duration)
    }

    /// Creates a process whose circuits open with the second failure.
    func process(_ store: (any SharedStore)? = nil, minimumCount: Int = 2, probes: Int = 1) async -> Process {
        let breaker = SharedCircuitBreaker(
            store ?? tested.store,
            breaker: CircuitBreaker(minimumCount: minimumCount, pause: Self.pause, probes: probes), clock: clock)
        let session = Session(
            configuration: SessionConfiguration {
                $0.clock = clock
                $0.middleware = [breaker]
            },
            transport: StubTransport(clock: clock) { [self] request in
                if request.url.host == "first" { return .text("ok") }
                sent.withLock { $0 += 1 }
                return answer.withLock { $0 }
            })
        let process = Process(session: session, breaker: breaker)
        // From its first request on, a breaker has the session's clock.
        #expect(await process.get("http://first") == "200")
        return process
    }

    /// Lets a process fail until its circuit opens.
    func open(_ process: Process) async {
        for _ in 0..<2 { #expect(await process.get() == "503") }
        #expect(process.isOpen())
    }

    /// Lets the pause of an open circuit pass, and the process send a probe that the server does not answer.
    func startProbe(_ process: Process) async -> Task<String, Never> {
        advance(by: Self.pause)
        answer.withLock { $0 = StubAnswer([.stall]) }
        let before = sent.withLock { $0 }
        let probe = Task { await process.get() }
        await poll { sent.withLock { $0 } == before + 1 }
        return probe
    }

    var entries: [SharedCircuits.Entry] {
        get async throws {
            let value = try await tested.store.value(for: "circuits")
            return try value.map { try JSONDecoder().decode([SharedCircuits.Entry].self, from: $0.data) } ?? []
        }
    }

    /// Waits until the store has the changes of these processes, and each of them knows the store's list.
    func settle(_ processes: Process...) async throws {
        try await poll {
            let entries = Dictionary(try await entries.map { ($0.origin, $0) }, uniquingKeysWith: { $1 })
            return processes.allSatisfy { process in
                process.breaker.state.withLock { $0.pending.isEmpty && $0.known.mapValues(\.entry) == entries }
            }
        }
    }
}

/// A store that stores no value and, if it is told so, gives no lease before a gate is opened. It notes the end of
/// sequences of changes.
final class GatedStore: ForwardingStore {
    let base: any SharedStore
    let gate = Gate()
    let leases = Gate()
    let holdsLeases = Guarded(false)
    let endedWatches = Guarded(0)

    init(_ base: any SharedStore) { self.base = base }

    func set(
        _ value: Data, for key: String, if condition: StoreCondition, lifetime: Duration?, under lease: StoreLease?
    ) async throws(StoreError) -> StoreVersion? {
        await gate.pass()
        return try await base.set(value, for: key, if: condition, lifetime: lifetime, under: lease)
    }

    func takeLease(_ name: String, for duration: Duration) async throws(StoreError) -> StoreLease? {
        if holdsLeases.withLock({ $0 }) { await leases.pass() }
        return try await base.takeLease(name, for: duration)
    }

    func changes(of key: String) -> AsyncStream<Void> {
        AsyncStream { continuation in
            let changes = Task { [base] in for await _ in base.changes(of: key) { continuation.yield() } }
            continuation.onTermination = { [endedWatches] _ in
                changes.cancel()
                endedWatches.withLock { $0 += 1 }
            }
        }
    }
}
