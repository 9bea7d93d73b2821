import Larkspur

/// A monitor that sends the trace context of W3C with every hop, and records spans.
///
///     let traces = TraceMonitor(recorder: bridge)
///     let session = Session(
///         configuration: SessionConfiguration {
///             $0.hopFields = [traces]
///             $0.eventMonitors = [traces]
///         })
///
/// Each request, attempt and hop has a span. Each hop sends the context of its own span, so the server's span is the
/// child of the hop. The parent of a request's span is ``TraceContext/current`` of the task that creates the request.
///
/// If a request has its own `traceparent` field, that field is sent unchanged. The spans of the request are then
/// children of that context.
///
/// As in OpenTelemetry, the fields are sent to every origin, also after a redirect to another origin. The closure
/// `sends` can exclude URLs.
public final class TraceMonitor: EventMonitor, HopFieldSource {
    private let recorder: any SpanRecorder
    private let sends: @Sendable (RequestURL) -> Bool

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - recorder: The destination of spans. If nil, contexts are passed on and no spans are recorded.
    ///   - sends: Whether a hop to this URL sends the fields; always by default.
    public init(recorder: (any SpanRecorder)? = nil, sends: @escaping @Sendable (RequestURL) -> Bool = { _ in true }) {
        self.recorder = recorder ?? SilentRecorder()
        self.sends = sends
    }

    public func hopFields(for request: RequestID) -> (any HopFields)? {
        RequestTrace(parent: TraceContext.current, of: self, recorder: recorder, sends: sends)
    }

    public func request(_ request: any Request, did event: RequestEvent) {
        for fields in request.hopFields {
            if let trace = fields as? RequestTrace, trace.monitor === self { trace.receive(event) }
        }
    }
}
