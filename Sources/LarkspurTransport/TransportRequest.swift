/// The request of one hop, complete and final.
///
/// The framework has checked method and fields: a transport sends them unchanged.
public struct TransportRequest: Sendable {
    /// The method, as in the request line.
    public var method: String
    /// The absolute URL of the request.
    public var url: RequestURL
    /// The header fields in the order in which they are sent, repeats included.
    public var fields: [HTTPHeader]
    /// The body. A body without a length is sent in chunks.
    public var body: TransportBody
    /// The number of response body bytes that may be delivered before the first `allow(upTo:)`; unlimited by default.
    public var initialAllowance: UInt64
    /// The time limits of the hop.
    public var timeouts = TransportTimeouts()
    /// Whether the transport asks the delegate, with `.serverTrust`, to decide about a TLS peer. If false, only the
    /// platform decides.
    public var asksForTrust = false
    /// The generation of the delegate's verdicts about the host. It grows when they are forgotten, so that a transport
    /// that asks only about new connections opens one (T25 in `Transport`).
    public var trustGeneration: UInt64 = 0
    /// Whether the transport asks the delegate, with `.clientIdentity`, for the identity that the connection shows to
    /// the TLS peer (T33 in `Transport`). If false, the transport's own identity is shown.
    public var asksForIdentity = false
    /// Whether the transport only connects to the peer, and sends nothing (T34 in `Transport`).
    package var isWarming = false
    /// Whether the request asks the peer to switch to another protocol (T26 in `Transport`). The request's fields name
    /// the protocol. The body is sent after the peer has switched.
    public var upgrades = false
    /// Creates the translator of a WebSocket, for one task; nil for other requests.
    package var translator: (@Sendable () -> any SocketTranslator)?
    /// The request's wishes about a cache; nil if the framework has no cache.
    package var cache: CacheInstructions?
    /// The facts for the code that decides when the hop may be sent; nil if the framework has no such code.
    package var flow: FlowInstructions?
    /// The priority among hops that wait for a connection slot.
    public var priority = RequestPriority.normal
    /// The HTTP version to use.
    public var version = HTTPVersionChoice.negotiated

    /// Creates a request with default timeouts and choices.
    public init(
        method: String = "GET", url: RequestURL, fields: [HTTPHeader] = [], body: TransportBody = .none,
        initialAllowance: UInt64 = .max
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.initialAllowance = initialAllowance
    }
}

/// The HTTP version of a request.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum HTTPVersionChoice: Sendable, Hashable {
    /// HTTP/2 if a TLS peer offers it on a new connection, otherwise HTTP/1.1. An engine with HTTP/3 uses it after a
    /// response of the host whose `Alt-Svc` field names it.
    case negotiated
    /// HTTP/1.1.
    case http1
    /// HTTP/2 without negotiation, also over plain TCP. The hop fails if the peer does not speak HTTP/2.
    case http2
    /// HTTP/3 to an https host, if the host can be reached over it. Otherwise HTTP/2 or HTTP/1.1, as with
    /// `.negotiated`. With an engine without HTTP/3, the request fails with `.transportUnavailable`.
    case http3
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without secrets. Fields and body are left out, because they may contain secrets.
    public var description: String { "\(method) \(url)" }
    /// Keeps `dump` from showing fields and body, which the description leaves out.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
