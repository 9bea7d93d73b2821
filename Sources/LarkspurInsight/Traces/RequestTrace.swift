import Larkspur
internal import LarkspurAnnex

/// The spans of one request.
///
/// The hops begin on the request's task, and the events arrive later, on a thread for monitors. Both keep their order.
/// So the first open hop and the first open attempt are those that the events are about.
final class RequestTrace: HopFields {
    private struct OpenHop {
        let span: any TraceSpan
        let start: Date
        var outcome = HopAttributes()
    }

    private struct OpenAttempt {
        let span: any TraceSpan
        let number: Int
    }

    private struct State {
        var hasStarted = false
        var isOver = false
        /// Whether the span of the request was started, or is being started.
        var hasBegun = false
        var root: (any TraceSpan)?
        var attempts: [OpenAttempt] = []
        var hops: [OpenHop] = []
        /// The number of hops so far, in all attempts.
        var hopCount = 0
        /// The number of the attempt that the next event is about.
        var attemptOfEvents = 1
        /// The status of the last response.
        var status: Int?
    }

    // Immutable
    private let parent: TraceContext?
    let monitor: TraceMonitor
    private let recorder: any SpanRecorder
    private let sends: @Sendable (RequestURL) -> Bool

    // Mutable state, guarded by the lock
    private let box = Guarded(State())

    init(
        parent: TraceContext?, of monitor: TraceMonitor, recorder: any SpanRecorder,
        sends: @escaping @Sendable (RequestURL) -> Bool
    ) {
        (self.parent, self.monitor, self.recorder, self.sends) = (parent, monitor, recorder, sends)
    }

    /// Ends the spans of a request whose end the monitor has missed, as failures of an unknown kind.
    deinit { finish("_OTHER") }

    // MARK: The request's side

    func fields(for hop: HopContext) -> HTTPHeaders {
        let (isOver, root, attempt, count) = box.withLock { state in
            if !state.isOver { state.hasBegun = true }
            return (state.isOver, state.root, state.attempts.last { $0.number == hop.attempt }, state.hopCount)
        }
        guard !isOver else { return [:] }
        let start = Date()
        let about = recorder is SilentRecorder ? [:] : HopAttributes.start(of: hop.request)
        let own = hop.request.headers["traceparent"] == nil ? nil : TraceContext(hop.request.headers)
        let request = root ?? begin(.request, "HTTP request", own ?? parent, about, start)
        let numbered: [String: SpanValue] = ["larkspur.attempt": .int(hop.attempt)]
        let open =
            attempt
            ?? OpenAttempt(
                span: begin(.attempt, "HTTP attempt", request.context, numbered, start), number: hop.attempt)
        let resends: [String: SpanValue] = count > 0 ? ["http.request.resend_count": .int(count)] : [:]
        let name = HopAttributes.name(of: hop.request.method)
        let span = begin(.hop, name, open.span.context, about.merging(resends) { $1 }, start)
        let isKept = box.withLock { state in
            guard !state.isOver else { return false }
            state.root = request
            state.hopCount += 1
            if attempt == nil { state.attempts.append(open) }
            state.hops.append(OpenHop(span: span, start: start))
            return true
        }
        guard isKept else {
            // The request was cancelled meanwhile. Its older spans have ended.
            let end = HopAttributes.end(error: "cancelled", at: Date())
            span.end(end)
            if attempt == nil { open.span.end(end) }
            if root == nil { request.end(end) }
            return [:]
        }
        guard hop.request.headers["traceparent"] == nil, sends(hop.url) else { return [:] }
        return span.context.headers
    }

    private func begin(
        _ kind: SpanStart.Kind, _ name: String, _ parent: TraceContext?, _ attributes: [String: SpanValue], _ time: Date
    ) -> any TraceSpan {
        recorder.start(SpanStart(kind: kind, name: name, parent: parent, attributes: attributes, time: time))
    }

    // MARK: The monitor's side

    func receive(_ event: RequestEvent) {
        switch event {
        case .start: box.withLock { $0.hasStarted = true }
        case .beginHop: box.withLock { $0.status = nil }
        case .receiveHead(let head):
            update { $0.status = head.status }
            box.withLock { $0.status = head.status }
        case .cache(let outcome): update { $0.cache = outcome.name }
        case .gatherMetrics(let metrics): update { $0.metrics = metrics }
        case .endHop(let error):
            guard let hop = box.withLock({ $0.hops.isEmpty ? nil : $0.hops.removeFirst() }) else { return }
            hop.span.end(hop.outcome.end(error: error, start: hop.start))
        case .retry(let error, _):
            let (attempt, status) = box.withLock { state -> (OpenAttempt?, Int?) in
                defer { state.attemptOfEvents += 1 }
                let isOpen = state.attempts.first?.number == state.attemptOfEvents
                return (isOpen ? state.attempts.removeFirst() : nil, state.status)
            }
            attempt?.span.end(HopAttributes.end(error: HopAttributes.type(of: error), status: status, at: Date()))
        case .finish(let error): finish(error.map(HopAttributes.type))
        default: break
        }
    }

    private func update(_ change: (inout HopAttributes) -> Void) {
        box.withLock { state in
            if !state.hops.isEmpty { change(&state.hops[0].outcome) }
        }
    }

    /// Ends the open spans, with the kind of the failure if the request failed.
    private func finish(_ failure: String?) {
        let (rest, isFirst) = box.withLock { state in
            defer {
                (state.isOver, state.root) = (true, nil)
                (state.attempts, state.hops) = ([], [])
            }
            return (state, !state.isOver)
        }
        guard isFirst else { return }
        let now = Date()
        let end = HopAttributes.end(error: failure, status: rest.status, at: now)
        // These hops have not begun, or the monitor has missed their ends.
        for hop in rest.hops { hop.span.end(HopAttributes.end(error: failure ?? "_OTHER", at: now)) }
        for attempt in rest.attempts { attempt.span.end(end) }
        if let root = rest.root { return root.end(end) }
        // The request failed before its first hop.
        if rest.hasStarted, !rest.hasBegun { begin(.request, "HTTP request", parent, [:], now).end(end) }
    }
}
