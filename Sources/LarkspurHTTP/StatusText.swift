/// The names of status codes in IANA's registry "HTTP Status Codes".
package enum StatusText {
    /// Returns the status with its registered name, such as `503 (Service Unavailable)`; only the number if there is no
    /// name.
    package static func described(_ status: Int) -> String {
        names[status].map { "\(status) (\($0))" } ?? "\(status)"
    }

    /// Returns a short reason why the status is an error.
    package static func problem(_ status: Int?) -> String {
        switch status {
        case let status? where status >= 400: names[status] ?? (status < 500 ? "client error" : "server error")
        default: "unexpected status"
        }
    }

    /// Returns the reason phrase of a status line; empty if the status has no registered name.
    package static func phrase(_ status: Int) -> String { names[status] ?? "" }

    private static let names: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK", 201: "Created",
        202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
        206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used", 300: "Multiple Choices",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 305: "Use Proxy",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
        411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
        501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported", 506: "Variant Also Negotiates", 507: "Insufficient Storage",
        508: "Loop Detected", 510: "Not Extended", 511: "Network Authentication Required",
    ]
}

extension ResponseHead {
    /// The reason phrase that is registered for the status, such as `Not Found`; empty if there is none. The
    /// server's own phrase is not kept, because HTTP/2 has none.
    public var statusText: String { StatusText.phrase(status) }
}
