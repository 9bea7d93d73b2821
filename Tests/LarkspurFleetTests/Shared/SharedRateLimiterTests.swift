import Foundation
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurFleet

/// A store whose counters never answer.
private final class SilentStore: ForwardingStore {
    let base: any SharedStore = MemoryStore()

    func add(_ amount: Int64, to counter: String, window: Duration) async throws(StoreError) -> StoreCount {
        let (silence, continuation) = AsyncStream<Void>.makeStream()
        for await _ in silence {}  // until the caller's timeout cancels the task
        continuation.finish()
        throw StoreError(.unavailable, "no answer")
    }
}

@Suite("A shared limit", .limited)
struct SharedRateLimiterTests {
    private let clock = ManualClock()
    private let store: LarkspurFleet.MemoryStore
    private let sent = Guarded(0)

    init() {
        let (clock, start) = (clock, clock.now)
        store = MemoryStore(now: { .seconds(100) + start.duration(to: clock.now) })
    }

    private func session(
        _ count: Int, store: (any SharedStore)? = nil,
        ifStoreFails failure: SharedRateLimiter.StoreFailure = .failClosed, timeout: Duration = .seconds(60)
    ) -> Session {
        let limiter = SharedRateLimiter(
            store ?? self.store, name: "api", count, per: .seconds(10), ifStoreFails: failure, timeout: timeout,
            clock: clock
        ) { $0.url.path != "/free" }
        return Session(
            configuration: SessionConfiguration {
                $0.admissions = [limiter]
                $0.clock = clock
            },
            transport: StubTransport { [sent] _ in
                sent.withLock { $0 += 1 }
                return .text("ok")
            })
    }

    private func error(from session: Session, _ path: String = "/", total: Duration? = nil) async -> RequestError? {
        await session.request("http://h" + path) { $0.options.timeouts.total = total }.serializingString().response
            .error
    }

    @Test("Two sessions share the limit; hops that exceed it wait for the next window")
    func waits() async throws {
        let sessions = [session(4), session(4)]
        for session in sessions + sessions { #expect(await error(from: session) == nil) }
        async let fifth = error(from: sessions[0])
        await clock.waitForSleepers()
        #expect(sent.withLock { $0 } == 4)
        #expect(await error(from: sessions[1], "/free") == nil)
        clock.advance(by: .seconds(10))
        #expect(await fifth == nil)
        #expect(sent.withLock { $0 } == 6)
    }

    @Test("A hop that would be too late fails at once, also while others wait")
    func late() async throws {
        let session = session(1)
        #expect(await error(from: session) == nil)
        #expect(await error(from: session, total: .seconds(3))?.code == .rateLimited)
        async let patient = error(from: session)
        await clock.waitForSleepers()
        #expect(await error(from: session, total: .seconds(3))?.code == .rateLimited)
        clock.advance(by: .seconds(10))
        #expect(await patient == nil)
        #expect(sent.withLock { $0 } == 2)
    }

    @Test("Hops wait for a store that does not answer only until the timeout, and not again in later windows")
    func silentStore() async throws {
        let store = SilentStore()
        let session = session(2, store: store, ifStoreFails: .failOpen, timeout: .milliseconds(10))
        for window in 1...3 {
            for _ in 0..<2 { #expect(await error(from: session) == nil) }
            #expect(sent.withLock { $0 } == 2 * window)
            clock.advance(by: .seconds(10))
        }
        let closed = self.session(2, store: store, timeout: .milliseconds(10))
        #expect(await error(from: closed)?.code == .rateLimited)
    }

    @Test("A cancelled hop takes no permit")
    func cancelled() async throws {
        let session = session(1)
        #expect(await error(from: session) == nil)
        let request = await session.request("http://h/")
        async let response = request.serializingString().response
        await clock.waitForSleepers()
        request.cancel()
        #expect(await response.error?.isCancelled == true)
        clock.advance(by: .seconds(10))
        #expect(await error(from: session) == nil)
    }

    @Test("If the store fails, hops fail with its error, or go on by the local share")
    func storeFails() async throws {
        let failing = FailingStore(store, failures: .max)
        let closed = session(3, store: failing)
        let refused = await error(from: closed)
        #expect(refused?.code == .rateLimited)
        #expect(((refused?.underlying as? TransportError)?.underlying as? StoreError)?.code == .unavailable)
        let open = session(3, store: failing, ifStoreFails: .failOpen)
        for _ in 0..<3 { #expect(await error(from: open) == nil) }
        async let fourth = error(from: open)
        await clock.waitForSleepers()
        #expect(sent.withLock { $0 } == 3)
        failing.failNext(0)
        clock.advance(by: .seconds(10))
        #expect(await fourth == nil)
        // The store is used again, once a window has asked it.
        while try await store.add(0, to: "api", window: .seconds(10)).value == 0 {
            clock.advance(by: .seconds(10))
            #expect(await error(from: open) == nil)
        }
        #expect(await error(from: closed) == nil)
    }

    @Test("A limit that is not positive is an error", arguments: [0, -1])
    func invalid(count: Int) async throws {
        #expect(await error(from: session(count))?.code == .invalidLimit)
    }
}
