/// The rules for fields that follow a body (trailers, RFC 9110, section 6.5).
package enum TrailerRules {
    /// The names of fields that may not follow a body, because a recipient needs them before the body: they frame or
    /// route the message, authenticate it, control caches, or say how to process the content.
    private static let forbidden: Set = [
        "transfer-encoding", "content-length", "trailer", "te", "connection", "keep-alive", "upgrade",
        "proxy-connection", "host", "forwarded", "via", "max-forwards", "expect", "range", "if-match", "if-none-match",
        "if-modified-since", "if-unmodified-since", "if-range", "cache-control", "pragma", "age", "expires", "date",
        "location", "retry-after", "vary", "warning", "authorization", "www-authenticate", "authentication-info",
        "proxy-authorization", "proxy-authenticate", "proxy-authentication-info", "cookie", "set-cookie",
        "content-encoding", "content-type", "content-range", "content-location", "accept-ranges",
        "strict-transport-security", "alt-svc", "clear-site-data",
    ]

    /// Returns whether a field with this name may follow a body.
    package static func allows(_ name: String) -> Bool { !name.isEmpty && !forbidden.contains(name.lowercased()) }

    /// Returns the reason why a request may not send this field after its body; nil if it may.
    package static func problem(with field: HTTPHeader) -> String? {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenByte) else {
            return "the name of a trailer field contains characters that HTTP does not allow"
        }
        guard allows(field.name) else { return "the field \(field.name) may not follow a body" }
        guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            return "the trailer field \(field.name) contains a line break or control character"
        }
        return nil
    }

    /// Returns the received fields that may follow a body, from their raw lines; nil if there are none.
    package static func allowed(inRawFields lines: [UInt8]) -> HTTPHeaders? {
        guard !lines.isEmpty else { return nil }
        let fields = ResponseHead(status: 200, rawFields: lines).fields.filter { allows($0.name) }
        return fields.isEmpty ? nil : HTTPHeaders(fields)
    }
}
