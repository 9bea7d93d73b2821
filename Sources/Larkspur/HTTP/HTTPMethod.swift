/// The method of a request: an open set, compared as written.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// The method; in quotes and escaped if it is none, so that it ends no line of a log.
    public var description: String {
        rawValue.utf8.allSatisfy(OutgoingRequest.isTokenByte) ? rawValue : rawValue.debugDescription
    }

    /// Asks a proxy for a tunnel; transports do that by themselves.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// Removes what the URL names.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Asks for what the URL names.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Asks for the head of what GET would give.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Asks what can be asked.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Changes a part of what the URL names.
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Hands something in, for the server to deal with.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Puts something where the URL says.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Asks with a body, and changes nothing.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// Asks for the request back, as it arrived.
    public static let trace = HTTPMethod(rawValue: "TRACE")
}
