/// A target of a request: a URL in any form, or a complete request.
///
/// Conform to ``URLConvertible`` or ``OutgoingRequestConvertible``. Requests to a type that conforms to neither fail
/// with ``RequestError/Code-swift.struct/requestCreationFailed``.
public protocol RequestTarget: Sendable {}

/// A type that can be converted to the URL of a request.
///
/// The conversion runs each time an attempt is built, so a value can compute a new URL for each attempt. An error of
/// the conversion is delivered with the response, not where the request is created.
///
/// If a type also conforms to ``OutgoingRequestConvertible``, a session uses the complete request.
public protocol URLConvertible: RequestTarget {
    /// Returns the URL. A thrown error fails the request in the stage `building`.
    func asRequestURL() throws -> RequestURL

    /// Returns the URL for a session with a base URL. A relative reference is resolved against the base. The default
    /// implementation ignores the base.
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
        let cure = error.reason == .schemeMissing ? " A session resolves it if its configuration has a baseURL." : ""
        self.init(.invalidURL, "\(error)\(cure) The URL is \(Redaction.quoted(text)).", underlying: error)
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
    /// All characters that have a meaning in URLs are escaped. The segments `.` and `..` make the URL invalid, because
    /// even in escaped form they would change the path.
    public mutating func appendInterpolation(segment: some StringProtocol) {
        let isPath = segment == "." || segment == ".."
        appendLiteral(isPath ? "\u{0}" : segment.percentEncoded)
    }
}

/// A type that can be converted to a complete request without a `URLRequest`.
///
/// Examples are a router that keeps the order of header fields, and a request whose body `URLRequest` cannot contain.
/// For a URL alone, conform to ``URLConvertible``. A session with a base URL resolves such a URL relative to the base.
public protocol OutgoingRequestConvertible: RequestTarget {
    /// Returns the request; called for each attempt.
    func asOutgoingRequest() throws -> OutgoingRequest
}

extension OutgoingRequest: OutgoingRequestConvertible {
    public func asOutgoingRequest() -> OutgoingRequest { self }
}
