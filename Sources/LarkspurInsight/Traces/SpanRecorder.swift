import Larkspur

/// The connection between ``TraceMonitor`` and a tracing library: it starts spans, and each span ends itself.
///
/// The recorder decides about identifiers and sampling. ``SpanStart/makeContext()`` makes both for a recorder that has
/// no rule for them.
///
/// The functions are called on the request's task, on the thread that starts a request, or on a thread for monitors.
/// They must not block.
public protocol SpanRecorder: Sendable {
    /// Starts a span.
    func start(_ span: SpanStart) -> any TraceSpan
}

/// A span that was started by a ``SpanRecorder``.
public protocol TraceSpan: Sendable {
    /// The span's position in its trace. The context of a hop is sent to the server.
    var context: TraceContext { get }

    /// Ends the span. Called exactly once.
    func end(_ end: SpanEnd)
}

/// The facts at the start of a span.
public struct SpanStart: Sendable {
    /// The part of a request that a span covers.
    public enum Kind: Sendable, Hashable {
        /// A request with all its attempts.
        case request
        /// An attempt with all its hops. An attempt without a hop has no span.
        case attempt
        /// One request on the wire, for which OpenTelemetry has the kind `CLIENT`. The kind of the others is
        /// `INTERNAL`.
        case hop
    }

    /// The part of the request.
    public let kind: Kind
    /// The name of the span: of a hop the method, or `HTTP` if the method is not a known one.
    public let name: String
    /// The parent: of a hop the attempt, of an attempt the request. If nil, the span starts a new trace.
    public let parent: TraceContext?
    /// The attributes that are known at the start, named as in OpenTelemetry's conventions for HTTP clients.
    public let attributes: [String: SpanValue]
    /// The time of the start.
    public let time: Date

    /// Returns a context for the span: a child of the parent, or the root of a new trace that is sampled.
    public func makeContext() -> TraceContext { parent?.child() ?? .root() }
}

/// The facts at the end of a span.
public struct SpanEnd: Sendable {
    /// Further attributes.
    public let attributes: [String: SpanValue]
    /// Whether the span failed. The attribute `error.type` then has the reason.
    public let isError: Bool
    /// The time of the end.
    public let time: Date
}

/// The value of an attribute of a span.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum SpanValue: Sendable, Hashable {
    /// A text.
    case string(String)
    /// A number.
    case int(Int)
}

/// A recorder that only makes contexts, for a monitor that passes traces on without recording spans. The traces that it
/// starts are not sampled.
struct SilentRecorder: SpanRecorder {
    struct Span: TraceSpan {
        let context: TraceContext

        func end(_ end: SpanEnd) {}
    }

    func start(_ span: SpanStart) -> any TraceSpan {
        Span(context: span.parent?.child() ?? .root(isSampled: false))
    }
}
