/// What a transport sends: one hop's request, complete and final.
///
/// The framework has checked the method and the fields before: a transport passes them on as they are.
public struct TransportRequest: Sendable {
    /// As it stands in the request line.
    public var method: String
    /// Where the request goes.
    public var url: RequestURL
    /// In the order in which they are sent, repeats included.
    public var fields: [HeaderField]
    /// Sent as its length says; in chunks without one.
    public var body: TransportBody
    /// How far the response body may run before the first `allow(upTo:)`; unlimited by default.
    public var initialAllowance: UInt64
    /// How long the hop may take.
    public var timeouts = TransportTimeouts()
    /// Whether the delegate judges the peer of a TLS connection, `.serverTrust`, and not the platform alone.
    public var asksForTrust = false
    /// Which version of HTTP to speak.
    public var version = HTTPVersionChoice.negotiated

    /// A request with the timeouts and choices that are usual.
    public init(
        method: String = "GET", url: RequestURL, fields: [HeaderField] = [], body: TransportBody = .none,
        initialAllowance: UInt64 = .max
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.initialAllowance = initialAllowance
    }
}

/// Which version of HTTP a request is sent by.
public enum HTTPVersionChoice: Sendable, Hashable {
    /// HTTP/2 where a TLS peer offers it to a new connection, otherwise HTTP/1.1.
    case negotiated
    /// HTTP/1.1.
    case http1
    /// HTTP/2 without asking first, also in clear text; a peer that does not speak it fails the hop.
    case http2
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL, without secrets; fields and body may hold secrets.
    public var description: String { "\(method) \(url)" }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
