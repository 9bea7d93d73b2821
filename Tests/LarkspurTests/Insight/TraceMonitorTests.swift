import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

private struct Refusal: Error {}

@Suite("Traces of requests", .limited)
struct TraceMonitorTests {
    private let log = TransportLog()
    private let spans = SpanLog()
    private let recorder = EventRecorder()
    private let finishes = FinishCounter()

    private func configuration(_ traces: TraceMonitor) -> SessionConfiguration {
        SessionConfiguration {
            $0.headers = [:]
            $0.validation = [.standard]
            $0.hopFields = [traces]
            $0.eventMonitors = [CompositeEventMonitor([traces, recorder, finishes])]
        }
    }

    private func session(
        answering answer: @escaping @Sendable (TransportRequest, Int) -> StubAnswer = { _, _ in .text("ok") }
    ) -> Session {
        log.session(configuration(TraceMonitor(recorder: spans)), answering: answer)
    }

    private func finished(_ count: Int = 1) async {
        await finishes.counter.reached(count)
    }

    @Test("Request, attempts and hops are parent and child across a redirect and a retry; each hop sends its own span")
    func tree() async throws {
        let session = session { request, number in
            switch (request.url.target, number) {
            case ("/old", _): .redirect(to: "http://other.example/new")
            case (_, 2): .text("busy", status: 503)
            default: .text("ok")
            }
        }
        let parent = TraceContext.root()
        let value = try await TraceContext.$current.withValue(parent) {
            try await session.request("http://h/old").retry(using: RetryOnce()).serializingString().value
        }
        #expect(value == "ok")
        await finished()
        let (request, attempts, hops) = (spans.entries(.request), spans.entries(.attempt), spans.entries(.hop))
        #expect(request.map(\.start.parent) == [parent])
        #expect(attempts.map(\.start.parent) == [request[0].context, request[0].context])
        #expect(hops.map(\.start.parent?.spanID) == [0, 0, 1, 1].map { attempts[$0].context.spanID })
        #expect(Set(spans.entries.map(\.context.traceID)) == [parent.traceID])
        // Another origin gets the fields too.
        #expect(log.requests.map { $0["traceparent"] } == hops.map(\.context.traceparent))
        #expect(spans.entries.allSatisfy { $0.ends.count == 1 })
        #expect(spans.entries.allSatisfy { $0.ends[0].time >= $0.start.time })
        #expect(hops.map { $0.text("http.response.status_code") } == ["302", "503", "302", "200"])
        #expect(hops.map { $0.text("http.request.resend_count") } == [nil, "1", "2", "3"])
        #expect(hops.map { $0.text("error.type") } == [nil, "503", nil, nil])
        #expect(hops.map { $0.text("server.address") } == ["h", "other.example", "h", "other.example"])
        #expect(attempts.map { $0.text("error.type") } == ["503", nil])
        #expect(attempts.map { $0.text("http.response.status_code") } == ["503", "200"])
        #expect(attempts.map { $0.ends[0].isError } == [true, false] && !request[0].ends[0].isError)
        #expect(request[0].text("http.response.status_code") == "200")
        #expect(recorder.violations.isEmpty)
    }

    @Test("A hop that is cancelled before it begins has a failed span")
    func cancelledBeforeTheHop() async throws {
        let made = Protected<DataRequest?>(nil)
        var configuration = configuration(TraceMonitor(recorder: spans))
        configuration.hopFields.append(
            .forEachHop { _ in
                made.withLock { $0 }?.cancel()
                return [:]
            })
        configuration.startsRequestsAutomatically = false
        let request = await log.session(configuration).request("http://h/")
        made.withLock { $0 = request }
        request.resume()
        await finished()
        #expect(log.requests.isEmpty)
        let ends = spans.entries.map(\.ends)
        #expect(ends.count == 3 && ends.allSatisfy { $0.count == 1 && $0[0].isError })
        #expect(spans.entries.map { $0.text("error.type") } == ["cancelled", "cancelled", "cancelled"])
        made.withLock { $0.take() }.map { withExtendedLifetime($0) {} }
    }

    @Test("Spans of requests that the monitor misses end as failures")
    func missed() async throws {
        var configuration = configuration(TraceMonitor(recorder: spans))
        configuration.eventMonitors = [finishes]
        _ = try await log.session(configuration).request("http://h/").serializingString().value
        await finished()
        await spans.ends.reached(3)
        #expect(spans.entries.map { $0.text("error.type") } == ["_OTHER", "_OTHER", "_OTHER"])
    }

    @Test("A server gets the context of each hop's own span over a connection")
    func server() async throws {
        let (server, received) = (try MockServer(), Journal())
        server.on("GET", "/old") { request in
            received.note(request.headers["traceparent"] ?? "none")
            return .redirect(to: "/new")
        }
        server.on("GET", "/new") { request in
            received.note(request.headers["traceparent"] ?? "none")
            return .text("ok")
        }
        let session = Session(configuration: configuration(TraceMonitor(recorder: spans)))
        _ = try await session.request(server.url + "/old").serializingString().value
        await finished()
        #expect(received.lines == spans.entries(.hop).map(\.context.traceparent))
        #expect(received.lines.count == 2)
        #expect(spans.entries(.hop).map { $0.text("network.protocol.version") } == ["1.1", "1.1"])
        await server.stop()
    }

    @Test("Without a context a request starts a new trace; the decision to sample and the state are passed on")
    func roots() async throws {
        let session = session()
        for _ in 0..<2 { _ = try await session.request("http://h/").serializingString().value }
        let parent = try #require(
            TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", tracestate: "a=1,b=2"))
        _ = try await TraceContext.$current.withValue(parent) {
            try await session.request("http://h/").serializingString().value
        }
        let sent = log.requests.compactMap { TraceContext(HTTPHeaders($0.fields)) }
        try #require(sent.count == 3)
        #expect(sent[0].traceID != sent[1].traceID && sent[0].isSampled)
        #expect(sent[2].traceID == parent.traceID && !sent[2].isSampled && sent[2].spanID != parent.spanID)
        #expect(log.requests[2]["tracestate"] == "a=1,b=2")
    }

    @Test("Without a recorder contexts are passed on, and new traces are not sampled")
    func silent() async throws {
        let session = log.session(configuration(TraceMonitor()))
        _ = try await session.request("http://h/").serializingString().value
        let parent = TraceContext.root()
        _ = try await TraceContext.$current.withValue(parent) {
            try await session.request("http://h/").serializingString().value
        }
        let sent = log.requests.compactMap { TraceContext(HTTPHeaders($0.fields)) }
        #expect(sent.map(\.isSampled) == [false, true])
        #expect(sent.last?.traceID == parent.traceID)
    }

    @Test("A request's own traceparent is sent unchanged and once, and is the parent of the spans")
    func own() async throws {
        let own = TraceContext.root()
        let session = session { _, number in number == 1 ? .redirect(to: "/b") : .text("ok") }
        let headers: HTTPHeaders = ["Traceparent": own.traceparent]
        _ = try await session.request("http://h/a", headers: headers).serializingString().value
        #expect(
            log.requests.map { HTTPHeaders($0.fields).values(for: "traceparent") } == [
                [own.traceparent], [own.traceparent],
            ])
        #expect(spans.entries(.request).map(\.start.parent) == [own])
        let invalid: HTTPHeaders = ["traceparent": "mine", "tracestate": "theirs"]
        _ = try await session.request("http://h/b", headers: invalid).serializingString().value
        #expect(log.requests.last?.fields.map(\.value) == ["mine", "theirs"])
    }

    @Test("The closure keeps the fields from other origins; their spans are recorded all the same")
    func excluded() async throws {
        let traces = TraceMonitor(recorder: spans) { $0.host == "h" }
        let session = log.session(configuration(traces)) { _, number in
            number == 1 ? .redirect(to: "http://other.example/") : .text("ok")
        }
        _ = try await session.request("http://h/").serializingString().value
        #expect(log.requests.map { $0["traceparent"] != nil } == [true, false])
        #expect(spans.entries(.hop).count == 2)
    }

    @Test("Attributes follow OpenTelemetry's conventions, without secrets")
    func attributes() async throws {
        let session = session { request, _ in
            request.url.port == nil ? .text("ok") : .failure(.connectionRefused)
        }
        _ = try await session.request("https://ada:pw@h.example/a?token=hidden&b=1").serializingString().value
        _ = await session.request("http://h.example:81/", method: "BREW").serializingString().response
        await finished(2)
        let hops = spans.entries(.hop)
        try #require(hops.count == 2)
        #expect(hops[0].start.name == "GET" && hops[0].text("http.request.method") == "GET")
        #expect(hops[0].text("server.port") == "443")
        let url = try #require(hops[0].text("url.full"))
        #expect(url.hasPrefix("https://h.example/a?token=") && url.hasSuffix("&b=1"))
        #expect(!url.contains("hidden") && !url.contains("pw"))
        #expect(hops[1].start.name == "HTTP" && hops[1].text("http.request.method") == "_OTHER")
        #expect(hops[1].text("http.request.method_original") == "BREW")
        #expect(hops[1].text("server.port") == "81")
        #expect(hops[1].text("error.type") == "connectionRefused" && hops[1].ends.first?.isError == true)
        #expect(spans.entries(.request).last?.text("error.type") == "connectionRefused")
    }

    @Test("Spans end once: after a cancel in a hop, and after a failure before the first hop")
    func ends() async throws {
        let session = session { _, _ in StubAnswer([.stall]) }
        let request = await session.request("http://h/")
        let task = request.serializingString()
        await recorder.wait { $0.contains { $0.name == "beginHop" } }
        request.cancel()
        _ = await task.response
        await finished()
        #expect(spans.entries.count == 3 && spans.entries.allSatisfy { $0.ends.count == 1 })
        #expect(spans.entries(.request).first?.text("error.type") == "cancelled")
        let failing = await session.request("http://h/").adapt(using: Interceptor(adapt: { _, _ in throw Refusal() }))
        _ = await failing.serializingString().response
        await finished(2)
        #expect(spans.entries.count == 4 && spans.entries.allSatisfy { $0.ends.count == 1 })
        #expect(spans.entries.last?.text("error.type") == "adaptationFailed")
        // A request that is never started has no span.
        _ = await session.request("http://h/").cancel()
        #expect(spans.entries.count == 4)
    }

    @Test("Without the monitor's events, the spans end with the request")
    func unobserved() async throws {
        var configuration = configuration(TraceMonitor(recorder: spans))
        configuration.eventMonitors = []
        let session = log.session(configuration)
        do {
            let request = await session.request("http://h/")
            _ = try await request.serializingString().value
            #expect(spans.entries.allSatisfy { $0.ends.isEmpty })
        }
        #expect(spans.entries.count == 3)
    }

    @Test("Requests at the same time have traces of their own, and each span ends once")
    func race() async throws {
        let session = session { _, number in number.isMultiple(of: 3) ? .redirect(to: "/\(number)") : .text("ok") }
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    await TraceContext.$current.withValue(.root()) {
                        let request = await session.request("http://h/")
                        if number.isMultiple(of: 4) { request.cancel() }
                        _ = await request.serializingString().response
                    }
                }
            }
        }
        await finished(200)
        #expect(spans.entries.allSatisfy { $0.ends.count == 1 })
        let parents = spans.entries(.request).compactMap { $0.start.parent?.traceID }
        #expect(Set(parents).count == parents.count && parents.count >= 150)
        #expect(spans.entries(.hop).allSatisfy { hop in parents.contains(hop.context.traceID) })
    }
}
