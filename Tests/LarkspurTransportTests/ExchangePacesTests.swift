import LarkspurTransport
import TestSupport
import Testing

@Suite("The paces of the readers of an exchange", .limited)
struct ExchangePacesTests {
    private final class NoTask: TransportTask {
        let id = TransportTaskID(1)
        func resume() {}
        func suspend() {}
        func cancel() {}
        func allow(upTo position: UInt64) {}
    }

    @Test("A thread whose call may have come after a newer one sets the pace again")
    func lateCalls() throws {
        var paces = ExchangePaces()
        let seats = [paces.add(ExchangePace()), paces.add(ExchangePace(isSuspended: true))]
        func next(after last: Bool? = nil) -> Bool? { paces.nextPace(isPaused: paces.wantPause, after: last)?.isPaused }
        paces.start(NoTask(), granted: .max)
        #expect(next(after: false) == nil)
        // One thread is about to pause the task when another one lets it run.
        paces.set(ExchangePace(isSuspended: true, version: 1), of: seats[0])
        #expect(next() == true)
        paces.set(ExchangePace(version: 1), of: seats[1])
        #expect(next() == false)
        #expect(next(after: false) == nil)
        // The task has to pause again when the first thread has made its call.
        paces.set(ExchangePace(isSuspended: true, version: 2), of: seats[1])
        #expect(next(after: true) == true)
        paces.set(ExchangePace(version: 3), of: seats[1])
        #expect(next() == false)
        #expect(next(after: true) == false)
        #expect(next(after: false) == nil && next() == nil)
    }
}
