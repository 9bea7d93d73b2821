import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurReachability

@Suite("Waiting for the network", .limited)
struct WhenReachableTests {
    private let network = ScriptedNetwork()
    private let clock = ManualClock()
    private var online: NetworkStatus { ScriptedNetwork.online }

    /// Waits for a route to the host by the feed, on a clock of the test.
    private func wait(for host: String, on clock: any Clock<Duration>, within limit: Duration? = nil) async
        -> NetworkFeed.WaitResult
    {
        await NetworkMonitor(source: network).feed.wait(on: clock, host: host, within: limit) { route, _ in
            route == .exists
        }
    }

    // MARK: Any host

    @Test("A reachable network is not waited for, and an unknown one counts as reachable")
    func atOnce() async throws {
        let monitor = NetworkMonitor(source: network)
        for status in [online, .unknown] {
            network.become(status)
            try await monitor.whenReachable()
        }
        #expect(network.watched.value == 0)
    }

    @Test("The wait ends when the network is reachable, and leaves no subscription")
    func change() async throws {
        let monitor = NetworkMonitor(source: network)
        let waiting = Task { try await monitor.whenReachable() }
        await network.watched.reached(1)
        network.become(.unreachable)
        network.become(online)
        try await waiting.value
        await network.cancelled.reached(1)
        #expect(monitor.feed.subscriberCount == 0)
    }

    @Test("A cancel ends the wait with a cancellation error", arguments: [nil, "h"])
    func cancel(host: String?) async {
        let monitor = NetworkMonitor(source: network)
        let waiting = Task { try await monitor.whenReachable(host: host) }
        await network.watched.reached(1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await network.cancelled.reached(1)
    }

    @Test("A task that is cancelled before does not wait")
    func cancelledBefore() async {
        let monitor = NetworkMonitor(source: network)
        let gate = Gate()
        let waiting = Task {
            await gate.pass()
            try await monitor.whenReachable()
        }
        waiting.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    // MARK: A host

    @Test("A host is asked for again at each report, also if the status is the same")
    func host() async throws {
        network.become(routes: ["h": .missing])
        let monitor = NetworkMonitor(source: network)
        let waiting = Task { try await monitor.whenReachable(host: "h") }
        await network.asked.reached(1)
        network.become(online)
        await network.asked.reached(2)
        network.become(online, routes: ["h": .exists])
        try await waiting.value
        #expect(Set(network.hosts) == ["h"])
    }

    @Test("A host with a route is not waited for, though the network is not reachable")
    func localHost() async throws {
        network.become(routes: ["h": .exists])
        try await NetworkMonitor(source: network).whenReachable(host: "h")
        #expect(network.hosts == ["h"])
    }

    @Test("While the network is reachable, a lookup is repeated after 1, 2, 4 seconds and so on, up to 30")
    func repeatedLookup() async {
        network.become(online, routes: ["h": .noAnswer])
        async let result = wait(for: "h", on: clock)
        for (number, seconds) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(seconds) - .milliseconds(1))
            #expect(network.asked.value == number + 1)
            clock.advance(by: .milliseconds(1))
            await network.asked.reached(number + 2)
        }
        network.become(routes: ["h": .exists])
        #expect(await result == .reachable)
    }

    @Test("While the network is not reachable, a lookup is repeated at reports only")
    func noLookup() async {
        let clock = LeapingClock()
        network.become(routes: ["h": .noAnswer])
        async let result = wait(for: "h", on: clock)
        for number in 1...3 {
            await network.asked.reached(number)
            network.become(.unreachable)
        }
        await network.asked.reached(4)
        network.become(online, routes: ["h": .exists])
        #expect(await result == .reachable)
        #expect(clock.sleeps.isEmpty)
    }

    // MARK: A limit

    @Test("The wait ends when the limit passes")
    func limit() async {
        async let result = wait(for: "h", on: clock, within: .seconds(30))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await result == .timedOut)
        await network.cancelled.reached(1)
    }
}
