import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("The phases of a hop", .limited)
struct HopTimelineTests {
    private func metrics(
        _ head: ResponseHead? = ResponseHead(status: 200), _ change: (inout TransportMetrics) -> Void
    ) throws -> HopTimeline {
        var metrics = TransportMetrics()
        change(&metrics)
        let request = try OutgoingRequest("https://u:p@example.com/?page=1&token=s3cret")
        let hop = Hop(request: request, head: head, metrics: metrics)
        return try #require(HopTimeline(hop, attempt: 1))
    }

    @Test("A new connection has all phases, drawn one after the other")
    func whole() throws {
        let metrics = try metrics {
            $0.queued = .microseconds(200)
            $0.nameLookup = .milliseconds(4)
            $0.connected = .microseconds(23_800)
            $0.secured = .microseconds(46_500)
            $0.requestSent = .microseconds(46_600)
            $0.firstByte = .microseconds(76_800)
            $0.total = .microseconds(83_100)
            ($0.requestBodyBytes, $0.responseBodyBytes) = (5, 1_300)
            ($0.protocolName, $0.remoteAddress, $0.connectionWasReused) = ("h2", "192.0.2.7", false)
        }
        #expect(
            metrics.description == """
                attempt 1: GET https://example.com/?page=1&token=REDACTED → 200, 83.1 ms, 5 B sent, 1.3 kB received, h2, to 192.0.2.7
                  queue         0.2 ms
                  lookup        4.0 ms  ██
                  connection   19.8 ms   ██████████
                  TLS          22.7 ms             ███████████
                  sending       0.1 ms                        █
                  waiting      30.2 ms                        ███████████████
                  receiving     6.3 ms                                      ███
                """)
        #expect(metrics.intervals.map(\.phase) == HopTimeline.Phase.allCases)
        #expect(metrics.intervals[0].start == .microseconds(-200))
        let durations = metrics.intervals.dropFirst().map(\.duration)
        #expect(durations.reduce(Duration.zero, +) == .microseconds(83_100))
    }

    @Test("A reused connection has no lookup and no connection; unknown facts are omitted")
    func kept() throws {
        let metrics = try metrics {
            ($0.firstByte, $0.total, $0.connectionWasReused) = (.milliseconds(1), .milliseconds(2), true)
        }
        #expect(metrics.intervals.map(\.phase) == [.waiting, .receiving])
        #expect(metrics.description.contains("on a reused connection\n"))
        #expect(try self.metrics { _ in }.intervals.isEmpty)
    }

    @Test("A failed hop ends in its current phase, and has no receiving phase")
    func givenUp() throws {
        let second = Duration.seconds(1)
        #expect(try metrics(nil) { $0.total = second }.intervals.map(\.phase) == [])
        #expect(
            try metrics(nil) { ($0.nameLookup, $0.total) = (.zero, second) }.intervals.map(\.phase) == [
                .lookup, .connection,
            ])
        let secured = try metrics(nil) {
            ($0.nameLookup, $0.connected, $0.secured, $0.total) = (.zero, .zero, .zero, second)
        }
        #expect(secured.intervals.map(\.phase) == [.lookup, .connection, .tls, .sending])
        let silent = try metrics(nil) { ($0.requestSent, $0.total) = (.milliseconds(1), second) }
        #expect(silent.intervals.map(\.phase) == [.sending, .waiting])
        #expect(silent.intervals.last?.end == second)
    }

    @Test("A response that begins before the whole request is sent has no negative durations")
    func early() throws {
        let metrics = try metrics {
            ($0.requestSent, $0.firstByte, $0.total) = (.milliseconds(5), .milliseconds(1), .milliseconds(6))
        }
        #expect(metrics.intervals.map(\.duration) == [.milliseconds(5), .zero, .milliseconds(1)])
        #expect(!metrics.description.contains("-"))
    }

    @Test("Every hop of every attempt has metrics, also over real connections")
    func exchange() async throws {
        let server = try MockServer()
        let calls = Counter()
        server.on("GET", "/a") { _ in calls.increment() == 1 ? .text("", status: 503) : .redirect(to: "/b") }
        server.on("GET", "/b") { _ in .text("hello") }
        let session = Session(
            configuration: SessionConfiguration { $0.validation = [.standard] },
            interceptor: .retrier { _, _, _ in .retry })
        let response = await session.request(server.url + "/a").serializingString().response
        #expect(response.timeline.map(\.attempt) == [1, 2, 2])
        #expect(response.timeline.map(\.hop.head?.status) == [503, 302, 200])
        #expect(response.timeline.map(\.hop.metrics?.connectionWasReused) == [false, true, true])
        #expect(response.timeline[0].intervals.contains { $0.phase == .connection })
        for metrics in response.timeline {
            let intervals = metrics.intervals.filter { $0.phase != .queue }
            #expect(intervals.last?.end == metrics.hop.metrics?.total)
            #expect(zip(intervals, intervals.dropFirst()).allSatisfy { $0.end == $1.start })
        }
        await server.stop()
    }
}
