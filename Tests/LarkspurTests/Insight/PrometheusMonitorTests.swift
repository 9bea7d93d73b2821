import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurInsight

private struct Refusal: Error {}

@Suite("Metrics of requests", .limited)
struct PrometheusMonitorTests {
    private let log = TransportLog()
    private let metrics = PrometheusMonitor()
    private let recorder = EventRecorder()
    private let finishes = FinishCounter()

    private func session(
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("ok") },
        configuring configure: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        let configuration = SessionConfiguration {
            $0.headers = [:]
            $0.validation = [.standard]
            $0.eventMonitors = [CompositeEventMonitor([metrics, recorder, finishes])]
            configure(&$0)
        }
        return log.session(configuration, answering: answer)
    }

    private func finished(_ count: Int = 1) async throws -> Exposition {
        await finishes.counter.reached(count)
        return try Exposition(metrics.text)
    }

    @Test("A request is counted once, with its hops, bytes and time")
    func success() async throws {
        let body = Data("body".utf8)
        _ = try await session().upload(body, to: "http://h.example:81/a").serializingString().value
        let text = try await finished()
        #expect(text[#"larkspur_requests_total{host="h.example",method="POST",status="2xx",outcome="success"}"#] == 1)
        #expect(text[#"larkspur_attempts_total{host="h.example",method="POST"}"#] == 1)
        #expect(text[#"larkspur_hops_total{host="h.example",method="POST",status="2xx",outcome="success"}"#] == 1)
        #expect(text[#"larkspur_request_body_bytes_total{host="h.example"}"#] == 4)
        #expect(text[#"larkspur_response_body_bytes_total{host="h.example"}"#] == 2)
        #expect(text[#"larkspur_request_duration_seconds_count{host="h.example",method="POST",status="2xx"}"#] == 1)
        #expect(text["larkspur_requests_in_flight"] == 0)
        #expect(text.types["larkspur_requests_in_flight"] == "gauge")
        #expect(text.types["larkspur_requests_total"] == "counter")
        #expect(text.types["larkspur_request_duration_seconds"] == "histogram")
        #expect(text.sum("larkspur_retries_total") == 0)
    }

    @Test("Retries, redirects and their hops are each counted once, with the hosts of the hops")
    func retriesAndRedirects() async throws {
        let session = session { request, number in
            switch (request.url.host, number) {
            case ("old.example", _): .redirect(to: "http://new.example/")
            case (_, 2): .text("busy", status: 503)
            default: .text("ok")
            }
        }
        _ = try await session.request("http://old.example/").retry(using: RetryOnce()).serializingString().value
        let text = try await finished()
        #expect(text[#"larkspur_requests_total{host="old.example",method="GET",status="2xx",outcome="success"}"#] == 1)
        #expect(text.sum("larkspur_requests_total") == 1)
        #expect(text[#"larkspur_attempts_total{host="old.example",method="GET"}"#] == 2)
        #expect(text[#"larkspur_retries_total{host="new.example",method="GET"}"#] == 1)
        #expect(text[#"larkspur_redirects_total{host="old.example",method="GET"}"#] == 2)
        #expect(text.sum("larkspur_redirects_total") == 2)
        #expect(text[#"larkspur_hops_total{host="old.example",method="GET",status="3xx",outcome="success"}"#] == 2)
        #expect(text[#"larkspur_hops_total{host="new.example",method="GET",status="5xx",outcome="success"}"#] == 1)
        #expect(text[#"larkspur_hops_total{host="new.example",method="GET",status="2xx",outcome="success"}"#] == 1)
        #expect(text.sum("larkspur_hops_total") == 4)
        #expect(recorder.violations.isEmpty)
    }

    @Test(
        "Each failure is counted once, by its kind",
        arguments: [
            (TransportError.Code.connectionRefused, "connectivity"), (.timedOut, "timeout"), (.wrongHost, "trust"),
            (.protocolViolation, "failed"), (TransportError.Code(rawValue: "new\"kind"), "failed"),
        ])
    func failures(code: TransportError.Code, outcome: String) async throws {
        let session = session { _, _ in .failure(code) }
        _ = await session.request("http://h/").serializingString().response
        let text = try await finished()
        #expect(text.sum("larkspur_requests_total", #"status="none",outcome="\#(outcome)""#) == 1)
        #expect(text.sum("larkspur_requests_total") == 1)
        #expect(text.sum("larkspur_hops_total", #"outcome="\#(outcome)""#) == 1)
        #expect(text["larkspur_requests_in_flight"] == 0)
    }

    @Test("Failures without a hop and after the response have their outcome")
    func otherFailures() async throws {
        let session = session { request, _ in request.url.target == "/404" ? .text("no", status: 404) : .text("ok") }
        _ = await session.request("http://h/404").serializingString().response
        _ = await session.request("http://h/text").serializingJSON().response
        let failing = await session.request("http://h/").adapt(using: Interceptor(adapt: { _, _ in throw Refusal() }))
        _ = await failing.serializingString().response
        let text = try await finished(3)
        #expect(text.sum("larkspur_requests_total", #"status="4xx",outcome="validation""#) == 1)
        #expect(text[#"larkspur_requests_total{host="none",method="other",status="none",outcome="failed"}"#] == 1)
        #expect(text.sum("larkspur_requests_total") == 3)
        #expect(text.sum("larkspur_attempts_total") == 3)
        #expect(text["larkspur_requests_in_flight"] == 0)
    }

    @Test("A request in flight is counted until its cancel; a request that never starts is not")
    func cancel() async throws {
        let session = session { _, _ in StubAnswer([.stall]) }
        let request = await session.request("http://h/")
        let task = request.serializingString()
        await recorder.wait { $0.contains { $0.name == "beginHop" } }
        #expect(try Exposition(metrics.text)["larkspur_requests_in_flight"] == 1)
        request.cancel()
        _ = await task.response
        var text = try await finished()
        #expect(text["larkspur_requests_in_flight"] == 0)
        #expect(text.sum("larkspur_requests_total", #"outcome="cancelled""#) == 1)
        #expect(text.sum("larkspur_hops_total", #"outcome="cancelled""#) == 1)
        let never = await session.request("http://h/").cancel()
        _ = await never.serializingString().response
        text = try await finished(2)
        #expect(text["larkspur_requests_in_flight"] == 0 && text.sum("larkspur_requests_total") == 1)
    }

    @Test("The outcomes of the cache are counted")
    func cache() async throws {
        let session = session {
            _, _ in
            .response(
                headers: ["Cache-Control": "max-age=60", "Transfer-Encoding": "chunked"], chunks: [Data("ok".utf8)])
        } configuring: {
            $0.cache = .inMemory()
        }
        for _ in 0..<3 { _ = try await session.request("http://h/").serializingString().value }
        _ = try await session.request("http://h/", method: .post).serializingString().value
        let text = try await finished(4)
        #expect(text[#"larkspur_cache_responses_total{host="h",outcome="miss"}"#] == 1)
        #expect(text[#"larkspur_cache_responses_total{host="h",outcome="hit"}"#] == 2)
        #expect(text[#"larkspur_cache_responses_total{host="h",outcome="bypassed"}"#] == 1)
        #expect(text.sum("larkspur_cache_responses_total") == 4)
        #expect(text[#"larkspur_response_body_bytes_total{host="h"}"#] == 4, "a hit receives nothing")
    }

    @Test("1,000 hosts have 100 labels, and methods that HTTP does not know are one")
    func bounded() async throws {
        let session = session()
        for number in 0..<1_000 {
            _ = try await session.request("http://h\(number).example/", method: HTTPMethod(rawValue: "M\(number)"))
                .serializingString().value
            // The monitor's queue has a limit.
            if number % 100 == 99 { await finishes.counter.reached(number + 1) }
        }
        let text = try await finished(1_000)
        let series = text.order.filter { $0.hasPrefix("larkspur_requests_total{") }
        #expect(series.count == 101)
        #expect(series.allSatisfy { $0.contains(#"method="other""#) })
        #expect(text.sum("larkspur_requests_total", #"host="other""#) == 900)
        #expect(text.sum("larkspur_requests_total") == 1_000)
        #expect(text.order.count < 101 * 60)
    }

    @Test("The label of a host can have its port")
    func ports() async throws {
        let metrics = try PrometheusMonitor(PrometheusMonitor.Options { $0.host = PrometheusMonitor.hostAndPort })
        let session = session(configuring: { $0.eventMonitors = [CompositeEventMonitor([metrics, finishes])] })
        let urls = ["http://h:8080/", "http://h/", "https://[::1]:8443/"]
        for url in urls { _ = try await session.request(url).serializingString().value }
        await finishes.counter.reached(urls.count)
        let text = try Exposition(metrics.text)
        for host in ["h:8080", "h", "[::1]:8443"] {
            #expect(text[#"larkspur_attempts_total{host="\#(host)",method="GET"}"#] == 1, "\(metrics.text)")
        }
    }

    @Test("Hostile labels cannot break a line: every value is escaped")
    func hostile() async throws {
        let label = "a\"} 1\n# TYPE x counter\nx{b=\"\\"
        let options = PrometheusMonitor.Options {
            $0.prefix = "app:http_"
            $0.buckets = [1]
            $0.host = { _ in label }
        }
        let metrics = try PrometheusMonitor(options)
        let session = session(configuring: { $0.eventMonitors = [CompositeEventMonitor([metrics, finishes])] })
        _ = try await session.request("http://h/").serializingString().value
        _ = try await finished()
        let text = try Exposition(metrics.text)
        let escaped = #"host="a\"} 1\n# TYPE x counter\nx{b=\"\\""#
        #expect(text[#"app:http__requests_total{\#(escaped),method="GET",status="2xx",outcome="success"}"#] == 1)
        #expect(!text.types.keys.contains("x"))
    }

    @Test(
        "Invalid options are refused with a reason",
        arguments: [
            ("", [1.0], 1, "prefix"), ("9a", [1], 1, "prefix"), ("a-b", [1], 1, "prefix"), ("a b", [1], 1, "prefix"),
            ("é", [1], 1, "prefix"), ("a\n", [1], 1, "prefix"), ("a", [], 1, "buckets"), ("a", [2, 1], 1, "buckets"),
            ("a", [1, 1], 1, "buckets"), ("a", [.infinity], 1, "buckets"), ("a", [.nan], 1, "buckets"),
            ("a", [1], -1, "maximumHosts"),
        ])
    func invalid(prefix: String, buckets: [Double], hosts: Int, reason: String) throws {
        let options = PrometheusMonitor.Options {
            ($0.prefix, $0.buckets, $0.maximumHosts) = (prefix, buckets, hosts)
        }
        let error = #expect(throws: PrometheusMonitor.InvalidOptions.self) { try PrometheusMonitor(options) }
        #expect(error?.description.hasPrefix("\(reason): ") == true)
    }

    @Test("Missed requests are counted")
    func missed() throws {
        metrics.didMiss(3)
        metrics.didMiss(4)
        let text = try Exposition(metrics.text)
        #expect(text["larkspur_missed_requests_total"] == 7)
        #expect(text["larkspur_requests_in_flight"] == 0)
        #expect(PrometheusMonitor.contentType == "text/plain; version=0.0.4; charset=utf-8")
    }

    @Test("The sums of many requests at the same time, of two sessions, agree")
    func race() async throws {
        let answer: @Sendable (TransportRequest, Int) -> StubAnswer = { request, _ in
            switch request.url.target {
            case "/0": .redirect(to: "/end")
            case "/1": .failure(.connectionLost)
            case "/2": .text("no", status: 500)
            default: .text("four")
            }
        }
        let sessions = [session(answering: answer), session(answering: answer)]
        await withTaskGroup { group in
            for number in 0..<400 {
                group.addTask {
                    let request = await sessions[number % 2].request("http://h\(number % 5)/\(number % 4)")
                    let task = request.serializingString()
                    if number % 7 == 0 { request.cancel() }
                    _ = await task.response
                    _ = metrics.text
                }
            }
        }
        let text = try await finished(400)
        let events = recorder.events
        let starts = events.count { $0.name == "start" }
        #expect(text.sum("larkspur_requests_total") == Double(starts))
        #expect(text.sum("larkspur_request_duration_seconds_count") == Double(starts))
        #expect(text.sum("larkspur_hops_total") == Double(events.count { $0.name == "endHop" }))
        #expect(text.sum("larkspur_redirects_total") == Double(events.count { $0.name == "redirect" }))
        #expect(text.sum("larkspur_attempts_total") == Double(events.count { $0.name == "create" }))
        #expect(text["larkspur_requests_in_flight"] == 0)
    }
}
