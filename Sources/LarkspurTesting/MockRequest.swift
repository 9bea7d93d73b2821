import Larkspur

/// A request as it arrived at a `MockServer`.
public struct MockRequest: Sendable {
    /// As it stood in the request line: `GET`.
    public var method: String
    /// As it stood in the request line: path and query.
    public var target: String
    /// As it stood in the request line: `HTTP/1.1`.
    public var version: String
    /// In the order in which they came, repeats included.
    public var headers: HTTPHeaders
    /// The body as far as the route reads and keeps it.
    public var body = Data()
    /// How many bytes of the body were read, kept or not.
    public var bodyCount: UInt64 = 0
    /// The connection it came over, counted from 1.
    public var connection = 0
    /// Which request of its connection it is, counted from 1.
    public var number = 0

    /// The target up to its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// What follows the target's first question mark.
    public var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    var keepsConnection: Bool {
        let options = headers.connectionOptions
        return version == "HTTP/1.0" ? options.contains("keep-alive") : !options.contains("close")
    }

    var expectsContinue: Bool { headers["Expect"]?.lowercased() == "100-continue" }
}

/// What a `MockServer` does with the body of a request before it asks the handler.
public enum MockBodyReading: Sendable {
    /// Reads and keeps all of it.
    case kept
    /// Reads all of it and only counts the bytes.
    case counted
    /// Keeps about so many bytes (what came along with them is kept too) and leaves the rest unread, so that a large upload
    /// stalls: of one in chunks the end, too. With 0 only the head is read, and a request that expects `100 Continue` does not
    /// get it.
    case upTo(UInt64)

    var isHeadOnly: Bool { if case .upTo(0) = self { true } else { false } }
}

extension HTTPHeaders {
    /// The words of all `Connection` fields, in lower case.
    var connectionOptions: [String] { values(for: "Connection").flatMap { $0.listed }.map { $0.lowercased() } }
}
