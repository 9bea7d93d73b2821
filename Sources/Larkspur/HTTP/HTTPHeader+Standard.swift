// The fields that people set by hand, under their names, so that values with rules are written by rule.

extension HTTPHeader {
    /// The media types that the answer may have.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// The charsets that the answer may have.
    public static func acceptCharset(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Charset", value: value) }

    /// The content codings that the answer may have.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// The languages that the answer should have.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// Languages in order of preference, at most ten: `de, en;q=0.9, fr;q=0.8`.
    public static func acceptLanguage(_ languages: [String]) -> HTTPHeader { .acceptLanguage(byQuality(languages)) }

    /// Codings in order of preference, at most ten: `zstd, br;q=0.9, gzip;q=0.8`.
    public static func acceptEncoding(_ codings: [String]) -> HTTPHeader { .acceptEncoding(byQuality(codings)) }

    /// Any scheme: the value is sent as it is.
    public static func authorization(_ value: String) -> HTTPHeader { HTTPHeader(name: "Authorization", value: value) }

    /// The Basic scheme, its text in UTF-8 (RFC 7617).
    public static func authorization(username: String, password: String) -> HTTPHeader {
        .authorization("Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
    }

    /// The Bearer scheme (RFC 6750).
    public static func authorization(bearerToken: String) -> HTTPHeader { .authorization("Bearer \(bearerToken)") }

    /// What caches may do with the request and its answer.
    public static func cacheControl(_ value: String) -> HTTPHeader { HTTPHeader(name: "Cache-Control", value: value) }

    /// How the body is to be presented.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// The coding that the body is in.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// The media type of the body.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// Who sends the request.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }

    /// The protocols that a WebSocket may speak.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }

    /// Each later choice is worth a tenth less; the first needs no number.
    private static func byQuality(_ choices: [String]) -> String {
        choices.prefix(10).enumerated()
            .map { $0.offset == 0 ? $0.element : "\($0.element);q=0.\(10 - $0.offset)" }
            .joined(separator: ", ")
    }
}
