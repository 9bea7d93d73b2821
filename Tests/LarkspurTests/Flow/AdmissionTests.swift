import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

/// An admission that keeps hops until the test decides about them.
final class HeldAdmission: HopAdmission {
    private let box = Protected<(waiting: [PendingHop], released: Int, withdrawn: Int, heads: [Int])>(([], 0, 0, []))
    let arrivals = Counter()

    var released: Int { box.withLock { $0.released } }
    var withdrawn: Int { box.withLock { $0.withdrawn } }
    var heads: [Int] { box.withLock { $0.heads } }

    func take() -> PendingHop? { box.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

    func admit(_ hop: PendingHop) {
        box.withLock { $0.waiting.append(hop) }
        arrivals.increment()
    }

    func withdraw(_ hop: PendingHop) { box.withLock { $0.withdrawn += 1 } }
    func receive(_ head: ResponseHead, for hop: PendingHop) { box.withLock { $0.heads.append(head.status) } }
    func release(_ hop: PendingHop) { box.withLock { $0.released += 1 } }
}

@Suite("Admissions", .limited)
struct AdmissionTests {
    private let admission = HeldAdmission()
    private let recorder = EventRecorder()
    private let clock = ManualClock()
    private let log = TransportLog()

    private func session(_ configure: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        log.session(
            SessionConfiguration {
                $0.clock = clock
                $0.admissions = [admission]
                $0.eventMonitors = [recorder]
                configure(&$0)
            }
        ) { _, _ in .text("ok") }
    }

    @Test("A hop is sent after its admission; events and metrics tell how long it has waited")
    func waits() async throws {
        let request = await session().request("http://h/")
        let task = request.serializingString()
        await admission.arrivals.reached(1)
        #expect(log.count == 0)
        let hop = try #require(admission.take())
        #expect(hop.kind == .data)
        #expect(hop.request.url.text == "http://h/")
        #expect(hop.admit())
        #expect(!hop.admit())
        let response = await task.response
        #expect(response.value == "ok")
        #expect((response.metrics?.queued ?? .zero) > .zero)
        #expect((admission.released, admission.withdrawn) == (1, 0))
        #expect(admission.heads == [200])
        await recorder.wait { $0.contains { $0.name == "finish" } }
        let names = recorder.names(of: request)
        #expect(
            Array(names.drop { $0 != "beginHop" }.prefix(4)) == ["beginHop", "awaitAdmission", "admit", "receiveHead"])
        #expect(recorder.violations == [])
    }

    @Test("A refusal ends the hop with its error")
    func refusal() async throws {
        let task = await session().request("http://h/").serializingString()
        await admission.arrivals.reached(1)
        try #require(admission.take()).refuse(TransportError(.overloaded, "not now"))
        let error = try #require(await task.response.error)
        #expect(error.code == .overloaded)
        #expect(error.stage == .sending)
        #expect((admission.released, admission.withdrawn, log.count) == (0, 0, 0))
    }

    @Test("A request that is cancelled while it waits ends at once, and a late admission has no effect")
    func cancellation() async throws {
        let request = await session().request("http://h/")
        let task = request.serializingString()
        await admission.arrivals.reached(1)
        request.cancel()
        #expect(await task.response.error?.code == .cancelled)
        #expect(admission.withdrawn == 1)
        let hop = try #require(admission.take())
        #expect(!hop.admit())
        #expect((admission.released, log.count) == (0, 0))
    }

    @Test("A cancellation while the base's task is being resumed reaches it after that, because it needs metrics")
    func cancellationDuringTheStart() async throws {
        let (cancelled, journal) = (Protected<DataRequest?>(nil), Journal())
        let base = StartingTransport { hop in
            cancelled.withLock { $0 }?.cancel()
            journal.note(hop.isCancelled ? "cancelled before" : "resumed")
        }
        let request = await Session(
            configuration: SessionConfiguration { $0.admissions = [admission] }, transport: base
        ).request("http://h/")
        cancelled.withLock { $0 = request }
        let task = request.serializingString()
        await admission.arrivals.reached(1)
        try #require(admission.take()).admit()
        let response = await task.response
        #expect(journal.lines == ["resumed"])
        #expect(response.error?.code == .cancelled)
        cancelled.withLock { $0 = nil }
    }

    /// Waits until the attempt's time stands still, which is after the admission was asked.
    private func timeStands() async { await recorder.wait { $0.contains { $0.name == "awaitAdmission" } } }

    @Test("The wait does not count for the timeout of the attempt, but for the total one")
    func attemptTimeout() async throws {
        let request = await session().request("http://h/").timeout(.attempt(.seconds(5)))
        let task = request.serializingString()
        await timeStands()
        clock.advance(by: .seconds(60))
        try #require(admission.take()).admit()
        #expect(await task.response.value == "ok")

        let late = await session().request("http://h/").timeout(.total(.seconds(5)))
        let lateTask = late.serializingString()
        await admission.arrivals.reached(2)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(6))
        #expect(await lateTask.response.error?.code == .timedOut)
        #expect(admission.withdrawn == 1)
    }

    @Test("After its admission, an attempt has the time that was left before")
    func restOfAttempt() async throws {
        let stub = StubTransport(clock: clock) { _ in StubAnswer([.stall]) }
        let session = Session(
            configuration: SessionConfiguration {
                $0.clock = clock
                $0.admissions = [admission]
                $0.eventMonitors = [recorder]
            }, transport: stub)
        let task = await session.request("http://h/").timeout(.attempt(.seconds(5))).serializingString()
        await timeStands()
        clock.advance(by: .seconds(60))
        try #require(admission.take()).admit()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await task.response.error?.code == .timedOut)
    }

    @Test("Every hop is admitted by itself: the first request, and the redirect that follows it")
    func hops() async throws {
        let session = log.session(SessionConfiguration { $0.admissions = [admission] }) { request, _ in
            request.url.path == "/a" ? .redirect(to: "/b") : .text("ok")
        }
        let task = await session.request("http://h/a").serializingString()
        for number in 1...2 {
            await admission.arrivals.reached(number)
            try #require(admission.take()).admit()
        }
        #expect(await task.response.value == "ok")
        #expect(admission.released == 2)
        #expect(admission.heads == [302, 200])
    }

    @Test("A session without admissions has no transport around its transport")
    func nothingConfigured() {
        let session = log.session { _, _ in .text("ok") }
        #expect(!(session.context.transport is AdmittingTransport))
    }
}
