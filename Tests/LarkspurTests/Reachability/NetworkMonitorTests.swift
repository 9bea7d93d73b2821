import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurReachability

@Suite("The network monitor", .limited)
struct NetworkMonitorTests {
    private let network = ScriptedNetwork()
    private let wifi = NetworkStatus(isReachable: true, interfaces: [.wifi], supportsIPv6: true)
    private var online: NetworkStatus { ScriptedNetwork.online }

    // MARK: Status

    @Test("The status is the source's at each access, also without a subscriber")
    func status() {
        let monitor = NetworkMonitor(source: network)
        #expect(monitor.status == .unreachable)
        network.become(online)
        #expect(monitor.status == online)
        #expect(network.watched.value == 0)
    }

    @Test(
        "A status describes itself in one line",
        arguments: [
            (NetworkStatus.unreachable, "not reachable"), (.unknown, "unknown"),
            (ScriptedNetwork.online, "reachable by wiredEthernet, IPv4"),
            (
                NetworkStatus(
                    isReachable: true, interfaces: [.wifi, .cellular], isExpensive: true, isConstrained: true,
                    supportsIPv6: true),
                "reachable by cellular, wifi, IPv6, expensive, constrained"
            ), (NetworkStatus(isReachable: true), "reachable"),
        ])
    func description(status: NetworkStatus, line: String) {
        #expect("\(status)" == line)
    }

    // MARK: Changes

    @Test("The changes begin with the current status, and no status comes twice in succession")
    func changes() async {
        let monitor = NetworkMonitor(source: network)
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == .unreachable)
        network.become(.unreachable)
        network.become(online)
        #expect(await changes.next() == online)
        network.become(online)
        network.become(wifi)
        #expect(await changes.next() == wifi)
    }

    @Test("A slow subscriber gets the latest status, and none that is as before")
    func slow() async {
        let monitor = NetworkMonitor(source: network)
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next() == .unreachable)
        for status in [online, .unreachable, online, wifi] { network.become(status) }
        #expect(await changes.next() == wifi)
        network.become(online)
        network.become(wifi)
        network.become(.unreachable)
        #expect(await changes.next() == .unreachable)
    }

    @Test("Each subscriber begins with the current status, and all get each change")
    func subscribers() async {
        let monitor = NetworkMonitor(source: network)
        var first = monitor.changes.makeAsyncIterator()
        #expect(await first.next() == .unreachable)
        network.become(online)
        var second = monitor.changes.makeAsyncIterator()
        #expect(await second.next() == online)
        #expect(await first.next() == online)
        network.become(wifi)
        #expect(await first.next() == wifi)
        #expect(await second.next() == wifi)
    }

    @Test("A change between the first status and the start of the watch is not missed")
    func missedChange() async {
        let network = ScriptedNetwork(reportsAtStart: true, onWatch: { $0.become(ScriptedNetwork.online) })
        let monitor = NetworkMonitor(source: network)
        var changes = monitor.changes.makeAsyncIterator()
        var latest = await changes.next()
        while latest == .unreachable { latest = await changes.next() }
        #expect(latest == online && monitor.status == online)
    }

    @Test("The changes end with the monitor, also those that are iterated later")
    func end() async {
        var monitor: NetworkMonitor? = NetworkMonitor(source: network)
        let sequence = monitor?.changes
        var changes = sequence?.makeAsyncIterator()
        #expect(await changes?.next() == .unreachable)
        monitor = nil
        #expect(await changes?.next() == nil)
        var late = sequence?.makeAsyncIterator()
        #expect(await late?.next() == nil)
        #expect(network.watched.value == 1 && network.cancelled.value == 1)
    }

    @Test("The end of one monitor leaves the subscriptions of another one to the same source")
    func otherMonitor() async {
        // Monitors of the system share its feed.
        var monitor: NetworkMonitor? = NetworkMonitor()
        var ending = monitor?.changes.makeAsyncIterator()
        var staying = NetworkMonitor.shared.changes.makeAsyncIterator()
        #expect(await ending?.next() != nil)
        monitor = nil
        #expect(await staying.next() != nil)
        var latest = await ending?.next()
        while latest != nil { latest = await ending?.next() }
    }

    @Test("A cancel of the task ends the iteration")
    func cancel() async {
        let monitor = NetworkMonitor(source: network)
        let begun = Gate()
        let task = Task {
            var count = 0
            for await _ in monitor.changes {
                count += 1
                begun.open()
            }
            return count
        }
        await begun.pass()
        task.cancel()
        #expect(await task.value == 1)
        await network.cancelled.reached(1)
        #expect(monitor.feed.subscriberCount == 0)
    }

    // MARK: Watching the source

    @Test("The source is watched once, from the first subscription to the end of the last")
    func watch() async {
        let monitor = NetworkMonitor(source: network)
        do {
            var first = monitor.changes.makeAsyncIterator()
            var second = monitor.changes.makeAsyncIterator()
            #expect(await first.next() == .unreachable)
            #expect(await second.next() == .unreachable)
            #expect(network.watched.value == 1 && network.cancelled.value == 0)
        }
        await network.cancelled.reached(1)
        var third = monitor.changes.makeAsyncIterator()
        #expect(await third.next() == .unreachable)
        #expect(network.watched.value == 2 && network.cancelled.value == 1)
    }

    @Test("Subscriptions that come and go while reports arrive are all ended, and so is the watch")
    func manySubscribers() async {
        let monitor = NetworkMonitor(source: network)
        await withTaskGroup { group in
            for number in 0..<16 {
                group.addTask { [network, online, wifi] in
                    for round in 0..<rounds(20, nightly: 500) {
                        if number < 4 {
                            network.become(round.isMultiple(of: 2) ? online : wifi)
                        } else {
                            var changes = monitor.changes.makeAsyncIterator()
                            #expect(await changes.next() != nil)
                        }
                    }
                }
            }
        }
        #expect(monitor.feed.subscriberCount == 0)
        await network.cancelled.reached(network.watched.value)
        network.become(.unreachable)
        #expect(monitor.status == .unreachable)
    }

    // MARK: The system

    @Test("The system has a status, which the changes begin with")
    func system() async {
        let monitor = NetworkMonitor()
        var changes = monitor.changes.makeAsyncIterator()
        let first = await changes.next()
        withExtendedLifetime(monitor) {}
        #expect(first?.isReachable == false || first?.interfaces.isEmpty == false)
    }

    @Test("Subscriptions to the system may come and go on all threads")
    func manySystemSubscribers() async {
        let monitor = NetworkMonitor(source: SystemNetworkSource())
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<rounds(5, nightly: 200) {
                        var changes = monitor.changes.makeAsyncIterator()
                        #expect(await changes.next() != nil)
                    }
                }
            }
        }
        #expect(monitor.feed.subscriberCount == 0)
    }

    @Test("The loopback interface has a route, without any other network", arguments: ["127.0.0.1", "localhost"])
    func loopback(host: String) async throws {
        try await NetworkMonitor().whenReachable(host: host)
    }
}
