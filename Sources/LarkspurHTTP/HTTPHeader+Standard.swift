// Functions that return common header fields. A function with typed parameters, such as a user and a password, formats
// the field's value. A function with a string uses the string as the value.

extension HTTPHeader {
    /// Returns an `Accept` field: the media types that the response may have.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// Returns an `Accept-Charset` field: the charsets that the response may have.
    public static func acceptCharset(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Charset", value: value) }

    /// Returns an `Accept-Encoding` field: the content codings that the response may have.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// Returns an `Accept-Language` field: the preferred languages of the response.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// Returns an `Accept-Language` field of at most ten languages in order of preference: `de, en;q=0.9, fr;q=0.8`.
    public static func acceptLanguage(_ languages: [String]) -> HTTPHeader { .acceptLanguage(byQuality(languages)) }

    /// Returns an `Accept-Encoding` field of at most ten codings in order of preference: `zstd, br;q=0.9, gzip;q=0.8`.
    public static func acceptEncoding(_ codings: [String]) -> HTTPHeader { .acceptEncoding(byQuality(codings)) }

    /// Returns an `Authorization` field for any scheme, with the value unchanged.
    public static func authorization(_ value: String) -> HTTPHeader { HTTPHeader(name: "Authorization", value: value) }

    /// Returns an `Authorization` field for the Basic scheme, encoded as UTF-8 (RFC 7617).
    ///
    /// This function is for code that makes fields itself, such as an adapter. To give a request a password, use
    /// ``Request/authenticate(username:password:preemptively:)``, which also supports Digest and checks the characters.
    /// To give all requests of a session a password, use a ``CredentialStore``.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        .authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
    }

    /// Returns an `Authorization` field for the Bearer scheme (RFC 6750).
    public static func authorization(bearerToken: String) -> HTTPHeader { .authorization("Bearer \(bearerToken)") }

    /// Returns a `Cache-Control` field: the directives for caches.
    public static func cacheControl(_ value: String) -> HTTPHeader { HTTPHeader(name: "Cache-Control", value: value) }

    /// Returns a `Content-Disposition` field: how to present the body.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// Returns a `Content-Encoding` field: the coding of the body.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// Returns a `Content-Type` field: the media type of the body.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// Returns a `User-Agent` field: the program that sends the request.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }

    /// Returns a `Sec-WebSocket-Protocol` field: the subprotocols that a WebSocket may use.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }

    /// Joins the choices. The first choice has no quality value, the second has 0.9, the third 0.8 and so on.
    private static func byQuality(_ choices: [String]) -> String {
        choices.prefix(10).enumerated()
            .map { $0.offset == 0 ? $0.element : "\($0.element);q=0.\(10 - $0.offset)" }
            .joined(separator: ", ")
    }
}
