import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

// The code of the guide to metrics and traces, word for word.

// A tracing library, as far as the guide needs it.

enum OTValue {
    case string(String)
    case int(Int)
}

private enum OTKind {
    case client
    case `internal`
}

private final class OTSpan: Sendable {
    let traceID: String
    let spanID = TraceContext.SpanID.random().description
    let isSampled: Bool
    let traceState: String?
    let facts: Protected<[String]>
    let ended: @Sendable ([String]) -> Void

    init(
        _ traceID: String, isSampled: Bool, state: String?, _ facts: [String],
        ended: @escaping @Sendable ([String]) -> Void
    ) {
        (self.traceID, self.isSampled, traceState) = (traceID, isSampled, state)
        (self.facts, self.ended) = (Protected(facts), ended)
    }

    func setAttribute(_ name: String, _ value: OTValue) { facts.withLock { $0.append("\(name)=\(value)") } }
    func setError() { facts.withLock { $0.append("error") } }
    func end(at time: Date) { ended(facts.withLock { $0 }) }
}

private final class OTSpanBuilder {
    private let tracer: Tracer
    private var facts: [String]
    private var parent: (trace: String, span: String, isSampled: Bool, state: String)?

    init(_ tracer: Tracer, _ facts: [String]) { (self.tracer, self.facts) = (tracer, facts) }

    func setParent(_ trace: String, _ span: String, isSampled: Bool, state: String) {
        parent = (trace, span, isSampled, state)
    }
    func setAttribute(_ name: String, _ value: OTValue) { facts.append("\(name)=\(value)") }

    func startSpan(at time: Date) -> OTSpan {
        OTSpan(
            parent?.trace ?? TraceContext.TraceID.random().description, isSampled: parent?.isSampled ?? true,
            state: parent?.state, facts
        ) { [tracer] facts in tracer.journal.note(facts.joined(separator: " ")) }
    }
}

private struct Tracer: Sendable {
    let journal = Journal()

    func spanBuilder(_ name: String, kind: OTKind) -> OTSpanBuilder { OTSpanBuilder(self, ["\(name) \(kind)"]) }
}

private struct Bridge: SpanRecorder {
    struct Span: TraceSpan {
        let span: OTSpan
        var context: TraceContext {
            let ids = "\(span.traceID)-\(span.spanID)"
            let flags = span.isSampled ? "01" : "00"
            return TraceContext(
                traceparent: "00-\(ids)-\(flags)",
                tracestate: span.traceState) ?? .root(isSampled: false)
        }

        func end(_ end: SpanEnd) {
            for (name, value) in end.attributes {
                span.setAttribute(name, value.bridged)
            }
            if end.isError { span.setError() }
            span.end(at: end.time)
        }
    }

    let tracer: Tracer

    func start(_ start: SpanStart) -> any TraceSpan {
        let builder = tracer.spanBuilder(
            start.name, kind: start.kind == .hop ? .client : .internal)
        if let parent = start.parent {
            builder.setParent(
                parent.traceID.description, parent.spanID.description,
                isSampled: parent.isSampled,
                state: parent.state.description)
        }
        for (name, value) in start.attributes {
            builder.setAttribute(name, value.bridged)
        }
        return Span(span: builder.startSpan(at: start.time))
    }
}

extension SpanValue {
    var bridged: OTValue {
        switch self {
        case .string(let text): .string(text)
        case .int(let number): .int(number)
        @unknown default: .string("")
        }
    }
}

@Suite("The guide to metrics and traces", .limited)
struct InsightExamples {
    private let log = TransportLog()
    private let recorder = Bridge(tracer: Tracer())

    @Test("Metrics are counted and answer a scrape")
    func metrics() async throws {
        func plain() -> (Session, PrometheusMonitor) {
            let metrics = PrometheusMonitor()
            let session = Session(eventMonitors: [metrics])
            return (session, metrics)
        }
        let metrics = plain().1
        func scrape() -> (contentType: String, body: String) {
            (PrometheusMonitor.contentType, metrics.text)
        }
        #expect(scrape().body.contains("\nlarkspur_requests_in_flight 0\n"))
    }

    @Test("Options choose the prefix, the buckets and the hosts")
    func options() async throws {
        let options = PrometheusMonitor.Options {
            $0.prefix = "films"
            $0.buckets = [0.1, 0.5, 1, 5]
            $0.host = { request in
                let host = request.url.host ?? ""
                return host.hasSuffix(".cdn.example") ? "cdn" : String(host)
            }
        }
        let metrics = try PrometheusMonitor(options)
        let recorder = EventRecorder()
        var configuration = SessionConfiguration.bare
        configuration.eventMonitors = [CompositeEventMonitor([metrics, recorder])]
        _ = try await log.session(configuration).request("http://a.cdn.example/").serializingString().value
        await recorder.wait { $0.last?.name == "finish" }
        #expect(metrics.text.contains(#"films_requests_total{host="cdn","#))
    }

    @Test("A bridge to a tracing library gets the spans, and the trace of the server goes on")
    func traces() async throws {
        func plain() -> Session {
            let traces = TraceMonitor(recorder: recorder)
            let session = Session(
                configuration: SessionConfiguration {
                    $0.trace(with: traces)
                })
            return session
        }
        let events = EventRecorder()
        var configuration = plain().configuration
        configuration.eventMonitors = [CompositeEventMonitor(configuration.eventMonitors + [events])]
        let session = log.session(configuration) { _, number in
            number == 1 ? .redirect(to: "/b") : .text("ok")
        }
        func handle(_ request: OutgoingRequest) async throws {
            _ = try await session.request("http://h/a").serializingString().value
        }
        let incoming = try OutgoingRequest("http://us/", headers: TraceContext.root().headers)
        let context = TraceContext(incoming.headers)
        try await TraceContext.$current.withValue(context) {
            try await handle(incoming)
        }
        await events.wait { $0.last?.name == "finish" }
        let sent = log.requests.compactMap { TraceContext(HTTPHeaders($0.fields)) }
        #expect(sent.map(\.traceID) == [context?.traceID, context?.traceID])
        let spans = recorder.tracer.journal.lines
        #expect(spans.map { $0.split(separator: " ").prefix(3).joined(separator: " ") }.count == 4)
        #expect(spans[0].hasPrefix("GET client ") && spans[1].hasPrefix("GET client "))
        #expect(spans[2].hasPrefix("HTTP attempt internal") && spans[3].hasPrefix("HTTP request internal"))
    }

    @Test("A closure keeps the fields from other origins")
    func origins() async throws {
        let traces = TraceMonitor(recorder: recorder) { url in
            url.host?.hasSuffix(".example.com") == true
        }
        var configuration = SessionConfiguration.bare
        configuration.hopFields = [traces]
        let session = log.session(configuration)
        for host in ["a.example.com", "b.example"] {
            _ = try await session.request("http://\(host)/").serializingString().value
        }
        #expect(log.requests.map { $0["traceparent"] != nil } == [true, false])
    }

    @Test("A source adds a field to every hop")
    func source() async throws {
        var configuration = SessionConfiguration.bare
        configuration.hopFields = [
            .forEachHop { hop in
                ["X-Hop": "\(hop.requestID)/\(hop.attempt)/\(hop.number)"]
            }
        ]
        let session = log.session(configuration) { _, number in
            number == 1 ? .redirect(to: "/b") : .text("ok")
        }
        _ = try await session.request("http://h/").serializingString().value
        #expect(log.requests.compactMap { $0["X-Hop"]?.suffix(3) } == ["1/1", "1/2"])
    }
}
