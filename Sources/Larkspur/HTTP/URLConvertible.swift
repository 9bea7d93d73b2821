/// What can name the target of a request.
///
/// Conversion happens when the request is built, at each attempt anew, so a value may compute its URL. An error thrown
/// surfaces in the response, never where the request was made.
public protocol URLConvertible: Sendable {
    /// The URL; what this throws fails the request with stage `building`.
    func asRequestURL() throws -> RequestURL

    /// The same for a session that has a base URL, which relative references are resolved against. By default the base
    /// is left aside.
    func asRequestURL(relativeTo base: RequestURL) throws -> RequestURL
}

extension URLConvertible {
    public func asRequestURL(relativeTo base: RequestURL) throws -> RequestURL { try asRequestURL() }
}

extension RequestURL: URLConvertible {
    public func asRequestURL() -> RequestURL { self }
}

extension String: URLConvertible {
    public func asRequestURL() throws -> RequestURL {
        do { return try RequestURL(self, idna: PlatformIDNA.ascii) } catch { throw RequestError(error, in: self) }
    }

    public func asRequestURL(relativeTo base: RequestURL) throws -> RequestURL {
        do { return try base.resolving(self, idna: PlatformIDNA.ascii) } catch { throw RequestError(error, in: self) }
    }
}

extension RequestError {
    fileprivate init(_ error: RequestURLError, in text: String) {
        self.init(.invalidURL, "\(error) The URL is \(Redaction.quoted(text)).", underlying: error)
    }
}

extension URL: URLConvertible {
    public func asRequestURL() throws -> RequestURL { try absoluteString.asRequestURL() }

    public func asRequestURL(relativeTo base: RequestURL) throws -> RequestURL {
        try absoluteString.asRequestURL(relativeTo: base)
    }
}

extension URLComponents: URLConvertible {
    public func asRequestURL() throws -> RequestURL { try text().asRequestURL() }

    public func asRequestURL(relativeTo base: RequestURL) throws -> RequestURL {
        try text().asRequestURL(relativeTo: base)
    }

    private func text() throws -> String {
        guard let string else { throw RequestError(.invalidURL, "the URLComponents make no URL") }
        return string
    }
}

extension String.StringInterpolation {
    /// A text as one segment of a URL's path, whatever is in it: `"users/\(segment: name)"`.
    ///
    /// Everything that could mean something in a URL is escaped. `.` and `..` cannot be: they would name another path, and
    /// so make the URL invalid.
    public mutating func appendInterpolation(segment: some StringProtocol) {
        let isPath = segment == "." || segment == ".."
        appendLiteral(isPath ? "\u{0}" : segment.percentEncoded)
    }
}

/// What can make a whole request by way of Foundation's value: a router's case, a prepared `URLRequest`.
///
/// Its method, URL, fields, body and timeout are taken over; order and repeats of fields it does not have. Be an
/// `OutgoingRequestConvertible` where they matter.
public protocol URLRequestConvertible: OutgoingRequestConvertible {
    /// The request, made anew for each attempt.
    func asURLRequest() throws -> URLRequest
}

/// What makes a whole request without passing through a `URLRequest`: a router that keeps order and repeats of fields, or
/// has a body that `URLRequest` cannot carry. It is asked again at each attempt.
public protocol OutgoingRequestConvertible: Sendable {
    /// The request, made anew for each attempt.
    func asOutgoingRequest() throws -> OutgoingRequest
}

extension URLRequestConvertible {
    public func asOutgoingRequest() throws -> OutgoingRequest {
        let request = try asURLRequest()
        var outgoing = OutgoingRequest(url: try request.requestURL())
        outgoing.urlRequest = request
        return outgoing
    }
}

extension URLRequest: URLRequestConvertible {
    public func asURLRequest() -> URLRequest { self }

    func requestURL() throws -> RequestURL {
        guard let url else { throw RequestError(.invalidURL, "the URLRequest has no URL") }
        return try url.asRequestURL()
    }
}

extension OutgoingRequest: OutgoingRequestConvertible {
    public func asOutgoingRequest() -> OutgoingRequest { self }
}

/// Turns a host name in any script into the form that goes over the wire, with the platform's own tables.
enum PlatformIDNA {
    @Sendable static func ascii(_ host: String) -> String? {
        var components = URLComponents()
        components.scheme = "https"
        components.host = host
        return components.encodedHost
    }
}
