import Larkspur

/// A request as a `MockServer` received it.
public struct MockRequest: Sendable {
    /// The method of the request line: `GET`.
    public var method: String
    /// The target of the request line: path and query.
    public var target: String
    /// The version of the request line: `HTTP/1.1`.
    public var version: String
    /// The header fields in the order of arrival, repeats included.
    public var headers: HTTPHeaders
    /// The part of the body that the route reads and keeps.
    public var body = Data()
    /// The number of body bytes that the server has read, whether it keeps them or not.
    public var bodyCount: UInt64 = 0
    /// The pieces of the body as they arrive, if the route reads it with ``MockBodyReading/live``; empty otherwise. One
    /// task may iterate the stream.
    public var pieces = AsyncStream<Data> { $0.finish() }
    /// The fields that followed the body (trailers).
    public var trailers: HTTPHeaders = [:]
    /// The number of the connection in its server, counted from 1.
    public var connection = 0
    /// The number of the request on its connection, counted from 1.
    public var number = 0

    /// The target up to its query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The target after its first question mark; nil if the target has no question mark.
    public var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    var keepsConnection: Bool {
        let options = headers.connectionOptions
        return version == "HTTP/1.0" ? options.contains("keep-alive") : !options.contains("close")
    }

    var expectsContinue: Bool { headers["Expect"]?.lowercased() == "100-continue" }
}

/// How a `MockServer` reads the body of a request before it calls the handler.
public enum MockBodyReading: Sendable {
    /// Reads and keeps the whole body.
    case kept
    /// Reads the whole body and only counts its bytes.
    case counted
    /// Keeps this many bytes and leaves the rest of the body unread, so that a large upload stalls. If further bytes
    /// have arrived together with the last of these bytes, they may be kept too. The end of a chunked body stays
    /// unread.
    ///
    /// With 0, the server reads only the head, and does not answer an `Expect: 100-continue` field with `100 Continue`.
    case upTo(UInt64)
    /// Calls the handler as soon as the head has arrived, and delivers the body as ``MockRequest/pieces`` while the
    /// response is sent. The pieces that the handler has not taken are kept in memory.
    case live

    var isLive: Bool { if case .live = self { true } else { false } }
    var isHeadOnly: Bool { if case .upTo(0) = self { true } else { false } }
}

extension HTTPHeaders {
    /// The options of all `Connection` fields, in lower case.
    var connectionOptions: [String] { values(for: "Connection").flatMap { $0.listed }.map { $0.lowercased() } }
}
