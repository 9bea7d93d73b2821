import Larkspur
import LarkspurInsight
import LarkspurTesting
import TestSupport
import Testing

// The code of "On servers", word for word.

struct SwiftLogMonitor: EventMonitor {
    let logger: Logging.Logger

    func request(_ request: any Request, did event: RequestEvent) {
        var fields: Logging.Logger.Metadata = [
            "request": "\(request.id)"
        ]
        if let status = request.head?.status {
            fields["status"] = "\(status)"
        }
        switch event {
        case .finish(nil):
            logger.log(level: .info, "\(request)", metadata: fields)
        case .finish(let error?):
            logger.log(level: .warning, "\(error)", metadata: fields)
        case .retry(let error, _):
            logger.log(
                level: .notice, "retry: \(error)", metadata: fields)
        case .advise(let advice):
            logger.log(level: .warning, "\(advice)", metadata: fields)
        default: break
        }
    }

    func didMiss(_ requests: Int) {
        logger.log(
            level: .warning, "\(requests) requests are not logged")
    }
}

struct SwiftMetricsMonitor: EventMonitor {
    func request(_ request: any Request, did event: RequestEvent) {
        let host = request.request?.url.host.map(String.init) ?? ""
        switch event {
        case .finish(let error):
            let outcome = error?.code.rawValue ?? "success"
            Metrics.Counter(
                label: "http_client_requests",
                dimensions: [("host", host), ("outcome", outcome)]
            ).increment()
        case .gatherMetrics(let metrics):
            guard let total = metrics.total else { return }
            Metrics.Timer(
                label: "http_client_hop", dimensions: [("host", host)]
            ).recordNanoseconds(Int64(total / .nanoseconds(1)))
        default: break
        }
    }
}

struct TracingBridge: SpanRecorder {
    struct Fields: Injector, Extractor {
        func inject(
            _ value: String, forKey key: String,
            into fields: inout [String: String]
        ) {
            fields[key] = value
        }

        func extract(
            key: String, from fields: [String: String]
        ) -> String? {
            fields[key]
        }
    }

    struct Active: TraceSpan {
        let span: any Tracing.Span
        let context: TraceContext

        func end(_ end: SpanEnd) {
            TracingBridge.add(end.attributes, to: span)
            if end.isError {
                span.setStatus(Tracing.SpanStatus(code: .error))
            }
            span.end()
        }
    }

    func start(_ start: SpanStart) -> any TraceSpan {
        var context = ServiceContext.current ?? .topLevel
        if let parent = start.parent {
            let fields = [
                "traceparent": parent.traceparent,
                "tracestate": "\(parent.state)",
            ]
            InstrumentationSystem.instrument.extract(
                fields, into: &context, using: Fields())
        }
        let span = Tracing.startSpan(
            start.name, context: context,
            ofKind: start.kind == .hop ? .client : .internal)
        Self.add(start.attributes, to: span)
        var fields: [String: String] = [:]
        InstrumentationSystem.instrument.inject(
            span.context, into: &fields, using: Fields())
        let sent = TraceContext(
            traceparent: fields["traceparent"] ?? "",
            tracestate: fields["tracestate"])
        return Active(span: span, context: sent ?? start.makeContext())
    }

    static func add(
        _ attributes: [String: SpanValue], to span: any Tracing.Span
    ) {
        for (name, value) in attributes {
            if case .int(let number) = value {
                span.attributes[name] = number
            }
            if case .string(let text) = value {
                span.attributes[name] = text
            }
        }
    }
}

struct SessionService: Service {
    let session: Session

    func run() async throws {
        try await gracefulShutdown()
        // The group of services limits this wait.
        for request in await session.requests {
            for await _ in request.heads {}  // ends with the request
        }
        await session.invalidate()
    }
}

struct OpenAPITransport: OpenAPIRuntime.ClientTransport {
    let session: Session

    func send(
        _ request: HTTPTypes.HTTPRequest,
        body: OpenAPIRuntime.HTTPBody?,
        baseURL: URL, operationID: String
    ) async throws -> (
        HTTPTypes.HTTPResponse, OpenAPIRuntime.HTTPBody?
    ) {
        var base = baseURL.absoluteString
        if base.hasSuffix("/") { base.removeLast() }
        var headers = HTTPHeaders()
        for field in request.headerFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
        let stream = await session.streamRequest(
            base + (request.path ?? ""),
            method: HTTPMethod(rawValue: request.method.rawValue),
            headers: headers, body: body.map(content))
        let response = try await stream.response()
        var fields = HTTPTypes.HTTPFields()
        for field in response.headers {
            guard let name = HTTPTypes.HTTPField.Name(field.name) else {
                continue
            }
            fields.append(
                HTTPTypes.HTTPField(name: name, value: field.value))
        }
        // The length of the field is that of the encoded body, which
        // may be another one.
        let bytes = OpenAPIRuntime.HTTPBody(
            response.bytes.map { ArraySlice($0) }, length: .unknown,
            iterationBehavior: .single)
        let status = HTTPTypes.HTTPResponse.Status(
            code: response.statusCode)
        let head = HTTPTypes.HTTPResponse(
            status: status, headerFields: fields)
        return (head, bytes)
    }

    private func content(
        _ body: OpenAPIRuntime.HTTPBody
    ) -> RequestContent {
        let length: UInt64? =
            if case .known(let count) = body.length {
                UInt64(count)
            } else {
                nil
            }
        return body.iterationBehavior == .multiple
            ? .sequence(length: length) { body }
            : .sequence(body, length: length)
    }
}

@Suite("The guide \"On servers\"", .limited)
struct ServerExamples {
    private let log = TransportLog()

    private func send(_ session: Session) async {
        _ = await session.request("http://h/a").validate().serializingData().response
    }

    private func session(_ monitor: any EventMonitor, _ status: Int) -> (Session, EventRecorder) {
        let recorder = EventRecorder()
        let configuration = SessionConfiguration {
            $0.headers = [:]
            $0.eventMonitors = [monitor, recorder]
        }
        return (log.session(configuration) { _, _ in .text("x", status: status) }, recorder)
    }

    @Test("A logger gets a line for each request, with a level")
    func logs() async {
        func plain(_ logger: Logging.Logger) -> Session {
            let session = Session(eventMonitors: [SwiftLogMonitor(logger: logger)])
            return session
        }
        #expect(plain(Logging.Logger(label: "x")).configuration.eventMonitors.count == 1)
        let logger = Logging.Logger(label: "http")
        await send(session(SwiftLogMonitor(logger: logger), 200).0)
        await poll { logger.journal.lines.count == 1 }
        #expect(logger.journal.lines == ["info GET http://h/a (200) request=#1 status=200"])
        await send(session(SwiftLogMonitor(logger: logger), 500).0)
        await poll { logger.journal.lines.count == 2 }
        #expect(logger.journal.lines[1].hasPrefix("warning validating failed: the server answered with status 500"))
    }

    @Test("Counters and timers get the outcome and the time")
    func metrics() async {
        await send(session(SwiftMetricsMonitor(), 503).0)
        let counter = #"http_client_requests [("host", "h"), ("outcome", "unacceptableStatus")] 1"#
        await poll { Metrics.journal.lines.contains(counter) }
        let request = await session(SwiftMetricsMonitor(), 200).0.request("http://h/timed")
        _ = await request.serializingData().response
        var times = TransportMetrics()
        times.total = .milliseconds(3)
        SwiftMetricsMonitor().request(request, did: .gatherMetrics(times))
        #expect(Metrics.journal.lines.contains(#"http_client_hop [("host", "h")] true"#))
    }

    @Test("Spans end, and the hop's context is sent")
    func traces() async throws {
        func make() -> Session {
            let session = Session(
                configuration: SessionConfiguration {
                    $0.trace(with: TraceMonitor(recorder: TracingBridge()))
                })
            return session
        }
        let session = log.session(make().configuration)
        await send(session)
        await poll { Tracing.journal.lines.contains { $0.hasPrefix("GET client with a method") } }
        let sent = try #require(log.requests.first?["traceparent"])
        #expect(sent.hasPrefix("00-" + String(repeating: "a", count: 32)) && sent.hasSuffix("-01"))
    }

    @Test("A service waits for the requests in flight, and then invalidates the session")
    func lifecycle() async throws {
        let gate = Gate()
        let session = log.session(interceptor: Interceptor(adapt: { _, _ in await gate.pass() }))
        let service = Task { try await SessionService(session: session).run() }
        let request = await session.request("http://h/a")
        let response = Task { await request.serializingString().response }
        await poll { await !session.requests.isEmpty }
        shutdownGate.open()
        gate.open()
        #expect(await response.value.value == "ok")
        try await service.value
        #expect(await session.request("http://h/").serializingData().response.error?.code == .sessionInvalidated)
    }

    @Test("A generated client sends its operations by a session")
    func openAPI() async throws {
        let answered = log.session { _, _ in .json(#"{"ok": true}"#, status: 201) }
        let transport = OpenAPITransport(session: answered)
        var fields = HTTPTypes.HTTPFields()
        fields.append(HTTPTypes.HTTPField(name: try #require(.init("Content-Type")), value: "application/json"))
        let request = HTTPTypes.HTTPRequest(
            method: try #require(.init("POST")), scheme: nil, authority: nil, path: "/users?a=1", headerFields: fields)
        let pieces = AsyncStream<ArraySlice<UInt8>> { stream in
            stream.yield(Array("{}".utf8)[...])
            stream.finish()
        }
        let body = OpenAPIRuntime.HTTPBody(pieces, length: .known(2), iterationBehavior: .single)
        let base = try #require(URL(string: "http://h/v1/"))
        let (response, reply) = try await transport.send(request, body: body, baseURL: base, operationID: "create")
        let sent = try #require(log.requests.first)
        #expect(sent.method == "POST" && sent.url.text == "http://h/v1/users?a=1" && sent.body.length == 2)
        #expect(sent["Content-Type"] == "application/json" && response.status.code == 201)
        #expect(response.headerFields.contains { $0.value.hasPrefix("application/json") })
        let bytes = try await #require(reply).reduce(into: []) { $0 += $1 }
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"ok": true}"#)
    }
}
