/// A target of a request: a URL in any form, or a complete request.
///
/// Conform to ``URLConvertible`` or ``OutgoingRequestConvertible``. A type that conforms to neither fails its requests
/// with ``RequestError/Code-swift.struct/requestCreationFailed``.
public protocol RequestTarget: Sendable {}

/// A type that can be converted to the URL of a request.
///
/// The conversion runs when each attempt is built, so a value can compute its URL. A thrown error is delivered with the
/// response, not where the request is created.
///
/// If a type is also an ``OutgoingRequestConvertible``, a session uses its complete request.
public protocol URLConvertible: RequestTarget {
    /// Returns the URL. A thrown error fails the request in the stage `building`.
    func asRequestURL() throws -> RequestURL

    /// Returns the URL for a session with a base URL, which resolves relative references. By default the base is
    /// ignored.
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
        guard let string else { throw RequestError(.invalidURL, "the URLComponents do not form a URL") }
        return string
    }
}

extension String.StringInterpolation {
    /// Appends any text as one segment of a URL's path: `"users/\(segment: name)"`.
    ///
    /// All characters with a meaning in URLs are escaped. The segments `.` and `..` make the URL invalid, because they
    /// would change the path even if escaped.
    public mutating func appendInterpolation(segment: some StringProtocol) {
        let isPath = segment == "." || segment == ".."
        appendLiteral(isPath ? "\u{0}" : segment.percentEncoded)
    }
}

/// A type that can be converted to a complete request through Foundation's `URLRequest`: a router's case, or a prepared
/// `URLRequest`.
///
/// The method, URL, fields, body and timeout are used. A `URLRequest` keeps neither the order nor the repetition of
/// fields; conform to ``OutgoingRequestConvertible`` where they matter.
public protocol URLRequestConvertible: OutgoingRequestConvertible {
    /// Returns the request; called for each attempt.
    func asURLRequest() throws -> URLRequest
}

/// A type that can be converted to a complete request without a `URLRequest`.
///
/// Examples are a router that keeps the order of fields, and a request whose body `URLRequest` cannot carry. For a URL
/// conform to ``URLConvertible``, which a session resolves relative to its base URL.
public protocol OutgoingRequestConvertible: RequestTarget {
    /// Returns the request; called for each attempt.
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

/// Converts host names in any script to their ASCII form (IDNA), with the platform's tables.
enum PlatformIDNA {
    @Sendable static func ascii(_ host: String) -> String? {
        var components = URLComponents()
        components.scheme = "https"
        components.host = host
        return components.encodedHost
    }
}
