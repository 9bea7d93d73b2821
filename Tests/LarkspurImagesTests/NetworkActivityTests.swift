import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

private final class Marker: Sendable {}

@Suite("The activity of the network", .limited)
struct NetworkActivityTests {
    private let markers = [Marker(), Marker()]
    private var first: ObjectIdentifier { ObjectIdentifier(markers[0]) }
    private var second: ObjectIdentifier { ObjectIdentifier(markers[1]) }

    @Test("A request that ends within the activation delay shows nothing")
    func short() {
        var activity = NetworkActivity()
        #expect(activity.start(first) == .wait(1, isActivation: true))
        #expect(activity.finish(first) == .none)
        #expect(activity.end(ofWait: 1) == .none)
        #expect(!activity.isActive)
        #expect(activity.takeReport() == nil)
    }

    @Test("A longer request is shown until the completion delay has passed")
    func long() {
        var activity = NetworkActivity()
        #expect(activity.start(first) == .wait(1, isActivation: true))
        #expect(activity.end(ofWait: 1) == .report)
        #expect(activity.takeReport() == true)
        #expect(activity.takeReport() == nil)
        #expect(activity.finish(first) == .wait(2, isActivation: false))
        #expect(activity.isActive)
        #expect(activity.end(ofWait: 2) == .report)
        #expect(activity.takeReport() == false)
    }

    @Test("A request within the completion delay continues the activity")
    func following() {
        var activity = NetworkActivity()
        _ = activity.start(first)
        _ = activity.end(ofWait: 1)
        #expect(activity.finish(first) == .wait(2, isActivation: false))
        #expect(activity.start(second) == .none)
        #expect(activity.end(ofWait: 2) == .none)
        #expect(activity.isActive)
    }

    @Test("Activity lasts as long as one of several requests runs")
    func several() {
        var activity = NetworkActivity()
        _ = activity.start(first)
        #expect(activity.start(second) == .none)
        _ = activity.end(ofWait: 1)
        #expect(activity.finish(first) == .none)
        #expect(activity.finish(first) == .none)
        #expect(activity.count == 1)
        #expect(activity.finish(second) == .wait(2, isActivation: false))
    }

    @Test("A monitor reports the activity of a session's requests")
    func session() async throws {
        let reports = Guarded<[Bool]>([])
        let clock = ManualClock()
        let monitor = NetworkActivityMonitor(clock: clock) { isActive in reports.withLock { $0.append(isActive) } }
        let session = Session(transport: StubTransport { _ in StubAnswer([.stall]) }, eventMonitors: [monitor])
        let task = await session.request("http://h.example").serializingData()
        task.resume()
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(999))
        #expect(!monitor.isActive)
        clock.advance(by: .milliseconds(1))
        await poll { reports.withLock { $0 } == [true] }
        #expect(monitor.count == 1)
        task.cancel()
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(169))
        #expect(monitor.isActive)
        clock.advance(by: .milliseconds(1))
        await poll { reports.withLock { $0 } == [true, false] }
        #expect(!monitor.isActive)
    }

    @Test("Something else than a request counts until its activity is released")
    func otherActivity() async {
        let clock = ManualClock()
        let monitor = NetworkActivityMonitor(clock: clock) { _ in }
        var activities = (0..<2).map { _ in monitor.beginActivity() }
        #expect(monitor.count == 2)
        activities.removeLast()
        #expect(monitor.count == 1)
        activities.removeLast()
        #expect(monitor.count == 0)
        // The delay's task ends with the delay.
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(!monitor.isActive)
    }
}
