/// A source of header fields that are added to every hop of a request, redirects and repeated hops included.
///
///     configuration.hopFields = [.forEachHop { hop in ["X-Hop": "\(hop.requestID)/\(hop.attempt)/\(hop.number)"] }]
///
/// An adapter runs once in an attempt, before the first hop, and a redirect keeps its fields. A source is asked again
/// for each hop: the fields of a hop are not carried over to the next hop. They are in the request that the transport
/// gets and in the event `.beginHop`. ``Request/request``, ``Hop/request`` and redirect handlers do not show them.
///
/// A field that the request already has is kept, and the source's field of that name is dropped. The session's sources
/// are asked in order, and the first field of a name wins. A hop fails with `.invalidRequest` and is not sent if a
/// source returns an invalid field or a field of the framework. These are `Host`, `Cookie`, `Range`, `Expect`,
/// `Accept-Encoding`, `Proxy-Authorization`, the fields of the connection and of WebSocket handshakes, and all fields
/// that describe the body.
///
/// A redirect may lead to another origin: look at ``HopContext/url`` before you return a secret. A field that differs
/// from request to request keeps them from sharing an exchange, unless ``Coalescing/identicalReads(ignoring:)`` names
/// the field, beside those of ``Coalescing/identicalReads``.
public protocol HopFieldSource: Sendable {
    /// Returns the fields for a new request; nil if the request gets none.
    ///
    /// The session calls this when the request is created, in the task that creates it, so the source can read
    /// task-local values here. The function must not block.
    func hopFields(for request: RequestID) -> (any HopFields)?
}

/// The header fields of one request's hops, which a ``HopFieldSource`` has made for that request.
public protocol HopFields: Sendable {
    /// Returns the fields for the hop that begins now. The session calls this on the request's task or on the thread
    /// that starts the request, one hop at a time. The function must not block.
    func fields(for hop: HopContext) -> HTTPHeaders
}

/// A source that calls a closure for each hop. ``HopFieldSource/forEachHop(_:)`` creates it.
public struct ClosureHopFields: HopFieldSource, HopFields {
    let closure: @Sendable (HopContext) -> HTTPHeaders

    public func hopFields(for request: RequestID) -> (any HopFields)? { self }

    public func fields(for hop: HopContext) -> HTTPHeaders { closure(hop) }
}

extension HopFieldSource where Self == ClosureHopFields {
    /// Returns a source that calls the closure for each hop.
    public static func forEachHop(_ fields: @escaping @Sendable (HopContext) -> HTTPHeaders) -> ClosureHopFields {
        ClosureHopFields(closure: fields)
    }
}

extension Request {
    /// The values that the session's sources of fields have made for this request, in the order of the sources. A
    /// monitor can find its own value here.
    public var hopFields: [any HopFields] { handle.core.hopFields }
}

extension SessionContext {
    func hopFields(for request: RequestID) -> [any HopFields] {
        configuration.hopFields.isEmpty ? [] : configuration.hopFields.compactMap { $0.hopFields(for: request) }
    }
}

extension OutgoingRequest {
    /// The lower-case names of fields that the framework sets or acts upon.
    private static let fieldsOfFramework: Set = [
        "accept-encoding", "connection", "cookie", "expect", "host", "http2-settings", "if-range", "keep-alive",
        "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    static func checkHopFields(_ fields: HTTPHeaders) throws(RequestError) {
        try check(fields, for: .none)
        for field in fields {
            let name = field.name.lowercased()
            guard fieldsOfFramework.contains(name) || name.hasPrefix("content-") || name.hasPrefix("sec-websocket-")
            else { continue }
            throw RequestError(.invalidRequest, "the header field \(field.name) cannot be added to single hops")
        }
    }
}
