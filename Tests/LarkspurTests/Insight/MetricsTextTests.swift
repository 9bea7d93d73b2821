import Larkspur
import TestSupport
import Testing

@testable import LarkspurInsight

@Suite("The text format of metrics", .limited)
struct MetricsTextTests {
    private final class Key {}

    private func text(_ buckets: [Double], _ change: (inout MetricsState, ObjectIdentifier) -> Void) throws -> String {
        let key = Key()
        let options = PrometheusMonitor.Options { $0.buckets = buckets }
        var state = MetricsState(buckets: buckets, maximumHosts: 2)
        change(&state, ObjectIdentifier(key))
        return MetricsText(of: state, options).text
    }

    private func request(_ url: String) throws -> OutgoingRequest { try OutgoingRequest(url) }

    @Test("Buckets are cumulative, a bound belongs to its bucket, and the last has all values")
    func buckets() throws {
        let request = try request("http://h/")
        let text = try text([0.1, 1]) { state, id in
            for (number, milliseconds) in [0, 100, 101, 1_000, 2_500].enumerated() {
                state.start(id, at: .seconds(number))
                state.create(id, request, "h")
                state.receive(id, status: 204)
                state.finish(id, nil, at: .seconds(number) + .milliseconds(milliseconds))
            }
        }
        let labels = #"host="h",method="GET",status="2xx""#
        let name = "larkspur_request_duration_seconds"
        #expect(
            text.hasSuffix(
                """
                # HELP \(name) Time from the start of a request to its finish, with retries and their delays.
                # TYPE \(name) histogram
                \(name)_bucket{\(labels),le="0.1"} 2
                \(name)_bucket{\(labels),le="1.0"} 4
                \(name)_bucket{\(labels),le="+Inf"} 5
                \(name)_sum{\(labels)} 3.701
                \(name)_count{\(labels)} 5

                """))
    }

    @Test("The phases of a hop are durations, not times since its start")
    func phases() throws {
        var metrics = TransportMetrics()
        (metrics.queued, metrics.nameLookup) = (.milliseconds(500), .milliseconds(125))
        (metrics.connected, metrics.secured) = (.milliseconds(375), .seconds(1))
        (metrics.firstByte, metrics.total) = (.milliseconds(1_500), .seconds(2))
        metrics.connectionWasReused = false
        let (request, measured) = (try request("http://h/"), metrics)
        let text = try text([10]) { state, id in
            state.start(id, at: .zero)
            state.create(id, request, "h")
            state.measure(id, measured)
        }
        let read = try Exposition(text)
        let sums = [
            "queue": 0.5, "name_lookup": 0.125, "connect": 0.25, "tls_handshake": 0.625, "time_to_first_byte": 1.5,
            "hop_duration": 2,
        ]
        for (name, sum) in sums { #expect(read[#"larkspur_\#(name)_seconds_sum{host="h"}"#] == sum, "\(name)") }
        #expect(read[#"larkspur_connections_used_total{host="h",reused="false"}"#] == 1)
        #expect(read["larkspur_requests_in_flight"] == 1)
    }

    @Test("The order of families and series does not depend on the order of requests")
    func order() throws {
        let hosts = ["b", "a", "c", "d"]
        func text(_ order: [Int]) throws -> String {
            let requests = try hosts.map { try request("http://\($0)/") }
            return try self.text([1]) { state, id in
                for index in order {
                    state.start(id, at: .zero)
                    state.create(id, requests[index], index < 2 ? hosts[index] : "other")
                    state.finish(id, nil, at: .zero)
                }
            }
        }
        let first = try text([0, 1, 2, 3])
        #expect(try text([3, 2, 1, 0]) == first)
        let series = try Exposition(first).order.filter { $0.hasPrefix("larkspur_requests_total") }
        #expect(series.map { $0.split(separator: "\"")[1] } == ["a", "b", "other"])
    }

    @Test("Empty metrics are valid, and events of unknown requests are not counted")
    func empty() throws {
        let request = try request("http://h/")
        let empty = try text([1]) { _, _ in }
        let ignored = try text([1]) { state, id in
            state.create(id, request, "h")
            let isKnown = state.beginHop(id, request)
            #expect(isKnown)
            state.aim(id, at: request.url, "h")
            state.receive(id, status: 200)
            state.count(id, .hit(age: .zero))
            state.measure(id, TransportMetrics())
            state.endHop(id, nil)
            state.finish(id, nil, at: .zero)
        }
        #expect(ignored == empty)
        #expect(try Exposition(empty).order == ["larkspur_requests_in_flight", "larkspur_missed_requests_total"])
    }

    @Test(
        "Escapes of labels and of help",
        arguments: [
            ("plain", "plain", "plain"), ("\"", #"\""#, "\""), ("\\", #"\\"#, #"\\"#), ("\n", #"\n"#, #"\n"#),
            ("\\n\"", #"\\n\""#, #"\\n""#), ("ü\r{}", "ü\r{}", "ü\r{}"),
        ])
    func escapes(text: String, label: String, help: String) {
        #expect(MetricsText.escaped(text, quotes: true) == label)
        #expect(MetricsText.escaped(text, quotes: false) == help)
    }

    @Test("The help text of each family says what it counts, and names follow the conventions")
    func names() {
        for family in MetricFamily.Counter.allCases {
            #expect(family.name.hasSuffix("_total") && family.help.hasSuffix("."))
        }
        for family in MetricFamily.Duration.allCases {
            #expect(family.name.hasSuffix("_seconds") && family.help.hasSuffix("."))
        }
    }
}
