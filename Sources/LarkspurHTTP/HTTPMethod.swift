/// A method of a request. Any name is allowed; comparison is case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// The method. An invalid name is quoted and escaped, so that it cannot break a line of a log.
    public var description: String {
        rawValue.utf8.allSatisfy(\.isTokenByte) ? rawValue : rawValue.debugDescription
    }

    /// Asks a proxy for a tunnel. Transports send this method themselves.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// Removes the resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Requests the resource.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Requests the head of the response to a GET.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Requests the options of the resource.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Changes a part of the resource.
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Submits data for the server to process.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Creates or replaces the resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Requests the result of a query in the body, without changing anything.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// Requests an echo of the request, as the server received it.
    public static let trace = HTTPMethod(rawValue: "TRACE")
}
