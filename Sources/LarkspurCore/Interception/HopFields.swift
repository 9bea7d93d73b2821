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

/// A hop that is about to begin.
public struct HopContext: Sendable {
    /// The identifier of the request, the same in all its attempts and hops.
    public let requestID: RequestID
    /// The number of the attempt, starting at 1.
    public let attempt: Int
    /// The number of the hop in its attempt, starting at 1.
    public let number: Int
    /// The request without the fields of the session's sources.
    public let request: OutgoingRequest
    /// The URL of the hop.
    public var url: RequestURL { request.url }
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

extension RequestCore {
    /// Returns the request with the fields of the hop that begins now. If a field is refused, also returns a transport
    /// that fails the hop.
    func addingHopFields(to request: OutgoingRequest) -> (request: OutgoingRequest, refusal: (any Transport)?) {
        guard !hopFields.isEmpty else { return (request, nil) }
        let (attempt, number) = read { ($0.attemptCount, ($0.attempt?.hops.count ?? 0) + 1) }
        let hop = HopContext(requestID: id, attempt: attempt, number: number, request: request)
        var headers = request.headers
        for source in hopFields {
            var fields = source.fields(for: hop)
            do throws(RequestError) { try OutgoingRequest.checkHopFields(fields) } catch {
                let code = TransportError.Code(rawValue: RequestError.Code.invalidRequest.rawValue)
                let refusal = TransportError(code, "a source of hop fields: \(error.message)", phase: .sending)
                return (request, UnavailableTransport(refusal))
            }
            fields.hide(request.options.confidentialHeaders)
            headers.addMissing(from: fields)
        }
        guard headers.count != request.headers.count else { return (request, nil) }
        var sent = request
        sent.headers = headers
        return (sent, nil)
    }
}

extension OutgoingRequest {
    /// The lower-case names of fields that the framework sets or acts upon.
    private static let fieldsOfFramework: Set = [
        "accept-encoding", "connection", "cookie", "expect", "host", "http2-settings", "if-range", "keep-alive",
        "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    fileprivate static func checkHopFields(_ fields: HTTPHeaders) throws(RequestError) {
        try check(fields, for: .none)
        for field in fields {
            let name = field.name.lowercased()
            guard fieldsOfFramework.contains(name) || name.hasPrefix("content-") || name.hasPrefix("sec-websocket-")
            else { continue }
            throw RequestError(.invalidRequest, "the header field \(field.name) cannot be added to single hops")
        }
    }
}
