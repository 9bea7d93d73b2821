import Larkspur

/// The content of an HTTP archive (HAR 1.2), as ``HARRecorder`` and the developer tools of browsers write it.
///
///     let archive = try HARArchive(contentsOf: file)
///     let slow = archive.entries.filter { $0.time > .seconds(1) }
public struct HARArchive: Sendable, Hashable {
    /// The entries, in the order of the file.
    public var entries: [Entry]

    /// Creates an archive with these entries.
    public init(entries: [Entry] = []) { self.entries = entries }

    /// One request on the wire and its response.
    ///
    /// A redirect has an entry of its own, also in the archives of browsers. In the archives of ``HARRecorder``,
    /// ``requestID``, ``attempt`` and ``hop`` link the entries of one request.
    public struct Entry: Sendable, Hashable {
        /// The time at which the request began.
        public var startedAt: Date
        /// The time from the beginning to the end.
        public var time: Duration
        /// The request.
        public var request: Request
        /// The response. If there was none, its status is 0.
        public var response: Response
        /// The duration of each phase.
        public var timings: Timings
        /// The IP address of the server.
        public var serverAddress: String?
        /// The identifier of the request of which the entry is a hop.
        public var requestID: String?
        /// The number of the attempt within its request, from 1.
        public var attempt: Int?
        /// The number of the hop within its request, from 1.
        public var hop: Int?
        /// The outcome of the cache, such as `hit` or `miss`.
        public var cacheOutcome: String?
        /// The kind of the resource, as browsers name it: `document`, `script`, `xhr`, `fetch`, `image` and others.
        public var resourceType: String?
        /// The error that has ended the hop.
        public var error: String?
        /// The messages of a WebSocket, in order.
        public var messages: [Message] = []

        /// Creates an entry. By default its time is the sum of the phases.
        public init(
            startedAt: Date, time: Duration? = nil, request: Request, response: Response, timings: Timings = Timings()
        ) {
            self.startedAt = startedAt
            self.time = time ?? timings.sum
            self.request = request
            self.response = response
            self.timings = timings
        }
    }

    /// A request of an archive.
    public struct Request: Sendable, Hashable {
        /// The method.
        public var method: String
        /// The URL, as written in the archive.
        public var url: String
        /// The version, such as `HTTP/2`; empty if it is not known.
        public var version = ""
        /// The header fields in their order.
        public var headers: HTTPHeaders
        /// The cookies that were sent.
        public var cookies: [Cookie] = []
        /// The body; nil if the request has none.
        public var body: Body?
        /// The number of body bytes on the wire, if it is known.
        public var bodySize: Int?

        /// Creates a request.
        public init(method: String = "GET", url: String, headers: HTTPHeaders = [:], body: Body? = nil) {
            (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
        }
    }

    /// A response of an archive.
    public struct Response: Sendable, Hashable {
        /// The status; 0 without a response.
        public var status: Int
        /// The reason phrase; empty if it is not known.
        public var statusText: String
        /// The version, such as `HTTP/2`; empty if it is not known.
        public var version = ""
        /// The header fields in their order.
        public var headers: HTTPHeaders
        /// The cookies that were set.
        public var cookies: [Cookie] = []
        /// The body, decoded from its content codings.
        public var body: Body
        /// The number of body bytes on the wire, if it is known.
        public var bodySize: Int?
        /// The target of a redirect, as written in the archive; empty for other responses.
        public var redirectURL = ""
        /// The fields that followed the body.
        public var trailers: HTTPHeaders?

        /// Creates a response.
        public init(status: Int, statusText: String = "", headers: HTTPHeaders = [:], body: Body = Body()) {
            (self.status, self.statusText, self.headers, self.body) = (status, statusText, headers, body)
        }
    }

    /// A body of an archive.
    public struct Body: Sendable, Hashable {
        /// The media type with its parameters; empty if it is not known.
        public var mimeType: String
        /// The bytes; nil if the archive does not have them.
        public var bytes: Data?
        /// The number of bytes, which can be larger than that of ``bytes``. Nil if it is not known.
        public var size: Int?
        /// The fields of a form, if the body is one.
        public var fields: [FormField] = []
        /// A remark, for example about bytes that are missing.
        public var comment: String?

        /// Creates a body.
        public init(_ bytes: Data? = nil, mimeType: String = "", size: Int? = nil) {
            (self.bytes, self.mimeType, self.size) = (bytes, mimeType, size ?? bytes?.count)
        }
    }

    /// A field of a form.
    public struct FormField: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value; nil for a file.
        public var value: String?
        /// The name of a file.
        public var fileName: String?
        /// The media type of a file or a value.
        public var mimeType: String?

        /// Creates a field.
        public init(name: String, value: String? = nil, fileName: String? = nil, mimeType: String? = nil) {
            (self.name, self.value, self.fileName, self.mimeType) = (name, value, fileName, mimeType)
        }
    }

    /// A cookie of a request or a response. A request has names and values only.
    public struct Cookie: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
        /// The attribute `Path`.
        public var path: String?
        /// The attribute `Domain`.
        public var domain: String?
        /// The attribute `Expires`.
        public var expires: Date?
        /// Whether the attribute `HttpOnly` is set.
        public var isHTTPOnly = false
        /// Whether the attribute `Secure` is set.
        public var isSecure = false

        /// Creates a cookie.
        public init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    /// The durations of an entry's phases. A phase that did not take place, or is not known, is nil.
    public struct Timings: Sendable, Hashable {
        /// Waiting for a connection, and for limits of the client.
        public var blocked: Duration?
        /// Looking up the name of the host.
        public var dns: Duration?
        /// Connecting, TLS included.
        public var connect: Duration?
        /// The part of ``connect`` that the TLS handshake took.
        public var tls: Duration?
        /// Sending the request.
        public var send: Duration?
        /// Waiting for the first byte of the response.
        public var wait: Duration?
        /// Receiving the response.
        public var receive: Duration?

        /// Creates timings without a known phase.
        public init() {}

        /// The sum of the phases.
        public var sum: Duration { [blocked, dns, connect, send, wait, receive].reduce(.zero) { $0 + ($1 ?? .zero) } }
    }

    /// A message of a WebSocket.
    public struct Message: Sendable, Hashable {
        /// Whether the client has sent the message.
        public var isSent: Bool
        /// Whether the message is a text; otherwise it is binary.
        public var isText: Bool
        /// The time at which the message was sent or received.
        public var time: Date
        /// The bytes; nil if the archive does not have them.
        public var bytes: Data?
        /// The number of bytes, which can be larger than that of ``bytes``.
        public var size: Int

        /// Creates a message.
        public init(isSent: Bool, isText: Bool, time: Date, bytes: Data?, size: Int? = nil) {
            (self.isSent, self.isText, self.time, self.bytes) = (isSent, isText, time, bytes)
            self.size = size ?? bytes?.count ?? 0
        }
    }
}
