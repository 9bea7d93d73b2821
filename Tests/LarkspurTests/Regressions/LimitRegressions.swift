import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

/// Limits that change while they run, and waits that nothing but the session's end would end.
@Suite("Limits and ends, once broken", .limited)
struct LimitRegressions {
    private let clock = ManualClock()
    private let log = TransportLog()

    @Test("An attempt's limit can be changed while the request is built", arguments: [true, false], [nil, 1, 10])
    func changedWhileBuilt(inModifier: Bool, seconds: Int?) async throws {
        let limit = seconds.map { Duration.seconds($0) }
        let adapter = Interceptor(adapt: { request, _ in if !inModifier { request.options.timeouts.attempt = limit } })
        let session = log.session(
            SessionConfiguration {
                $0.clock = clock
                $0.options.timeouts.attempt = .seconds(5)
            }, interceptor: adapter
        ) { _, _ in .text("body") }
        let request = await session.request("http://h/") { if inModifier { $0.options.timeouts.attempt = limit } }
        #expect(try await request.serializingString().value == "body")
        await clock.waitForNoSleepers()  // a timer that was cancelled ends in a task of its own
    }

    @Test("Running work goes on when its limit is replaced, and ends with the new limit")
    func replacedWhileRunning() async throws {
        let gate = Gate()
        let old = Deadline(.attempt, .seconds(5), on: clock)
        let new = Deadline(.attempt, .seconds(10), on: clock, replacing: old)
        old.start {}
        let result = Task { try await old.run { await gate.pass() } }
        await gate.arrived()
        await clock.waitForSleepers(1)
        old.retire(for: new)
        new.start {}
        await poll { clock.sleepers == 1 }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: RequestError.self) { try await result.value }
        #expect(error?.isTimeout == true && new.hasPassed && !old.hasPassed)
        gate.open()
    }

    @Test("Running work goes on to its own end when its limit is removed")
    func takenAway() async throws {
        let gate = Gate()
        let deadline = Deadline(.attempt, .seconds(5), on: clock)
        let result = Task {
            try await deadline.run {
                await gate.pass()
                return "value"
            }
        }
        await gate.arrived()
        deadline.retire(for: nil)
        gate.open()
        #expect(try await result.value == "value")
        #expect(try await deadline.run { "next" } == "next")
    }

    @Test("A sequence of a request that never starts ends with its session")
    func sequences() async {
        let session = log.session()
        let request = await session.request("http://h/", startsAutomatically: false)
        let progress = request.downloadProgress.makeAsyncIterator()
        let heads = request.heads.makeAsyncIterator()
        await session.invalidate()
        for var iterator in [progress] { while await iterator.next() != nil {} }
        for var iterator in [heads] { while await iterator.next() != nil {} }
        #expect(request.error?.code == .sessionInvalidated)
    }
}
