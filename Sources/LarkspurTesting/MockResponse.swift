import Larkspur

/// The steps by which a `MockServer` responds to one request.
///
///     server.on("GET", "/slow") { _ in .text("at last").after(.seconds(2)) }
///     server.on("GET", "/broken") { _ in .text("a long text").truncated(after: 4) }
///     server.on("GET", "/by/hand") { _ in MockResponse([.raw(Data("HTTP/1.1 200 OK\r\nA".utf8)), .stall]) }
///
/// After the last step, the server keeps the connection open for the next request. It closes the connection if the
/// request or a head says so (`Connection: close`), or if a step does so.
public struct MockResponse: Sendable {
    /// How the end of a body is marked.
    public enum Framing: Sendable {
        /// Uses the framing fields of the head. If the head has none, declares the length of the following body steps,
        /// or uses chunked coding if this length is not known or trailers follow.
        case automatic
        /// Declares this length, even if the following steps have another length.
        case length(UInt64)
        /// Sends each body step as a chunk.
        case chunked
        /// Ends the body by closing the connection.
        case untilClose
    }

    /// One action of the server.
    public enum Step: Sendable {
        /// Sends an interim response such as 103.
        case interim(Int, HTTPHeaders = [:])
        /// Sends the status line and the header fields. The framing decides how the end of the body is marked.
        case head(ResponseHead, Framing = .automatic)
        /// Sends bytes of the body, framed as the head declares.
        case body(Data)
        /// Sends a body that the closure generates.
        ///
        /// The closure receives a position in the body and returns the next bytes from there on. Nil or no bytes mean
        /// the end of the body. The closure runs on the server's thread and must not block. `count` is the total number
        /// of bytes, if known.
        case generated(count: UInt64?, @Sendable (UInt64) -> Data?)
        /// Sends the pieces that the closure returns, one after the other, until it returns nil. If it throws, the
        /// connection is closed.
        case pieces(@Sendable () async throws -> Data?)
        /// Sends fields after the last chunk.
        case trailers(HTTPHeaders)
        /// Sends these bytes unchanged, even if the head declares chunks or another length.
        case raw(Data)
        /// Waits for this time.
        case wait(Duration)
        /// Waits until the closure returns, or closes the connection if it throws.
        case pause(@Sendable () async throws -> Void)
        /// From here on, sends at most this many bytes at a time.
        case drip(bytes: Int, every: Duration)
        /// Switches the connection to a WebSocket, and runs the handler in a task. A head with the status 101 comes
        /// before this step.
        case webSocket(MockWebSocket, @Sendable (MockWebSocket) async throws -> Void)
        /// Waits until the peer closes the connection.
        case stall
        /// Closes the connection normally.
        case close
        /// Closes the connection with a reset.
        case reset

        /// Returns a body step of this many bytes of the pattern ``MockResponse/pattern(from:count:)``. The body is
        /// never in memory as a whole.
        public static func bytes(count: UInt64) -> Step {
            .generated(count: count) { position in
                MockResponse.pattern(from: position, count: Int(min(count - position, UInt64(largestPiece))))
            }
        }
    }

    private static let largestPiece = 64 * 1024
    private static let period = 251
    private static let table = (0..<(largestPiece + period)).map { UInt8($0 % period) }

    /// The server's actions, in this order.
    public var steps: [Step]

    /// Creates a response from steps.
    public init(_ steps: [Step]) { self.steps = steps }

    /// Returns the bytes of ``Step/bytes(count:)`` from a position on. The pattern repeats after 251 bytes, so a test
    /// notices if a piece is lost or delivered twice.
    public static func pattern(from position: UInt64, count: Int) -> Data {
        var bytes = Data(capacity: count)
        while bytes.count < count {
            let start = Int((position + UInt64(bytes.count)) % UInt64(period))
            bytes += table[start..<(start + min(count - bytes.count, largestPiece))]
        }
        return bytes
    }
}

extension MockResponse {
    /// Returns a complete response whose body has one step for each chunk.
    public static func response(
        _ status: Int = 200, headers: HTTPHeaders = [:], chunks: [Data] = [], framing: Framing = .automatic
    ) -> MockResponse {
        let head = ResponseHead(status: status, fields: Array(headers))
        return MockResponse([.head(head, framing)] + chunks.map(Step.body))
    }

    /// Returns a response with a text.
    public static func text(_ text: String, status: Int = 200, contentType: String = "text/plain") -> MockResponse {
        response(status, headers: ["Content-Type": contentType], chunks: [Data(text.utf8)])
    }

    /// Returns a response with this JSON text.
    public static func json(_ text: String, status: Int = 200) -> MockResponse {
        self.text(text, status: status, contentType: "application/json")
    }

    /// Returns a redirect to this location.
    public static func redirect(_ status: Int = 302, to location: String) -> MockResponse {
        response(status, headers: ["Location": location])
    }

    /// Returns a response with this many bytes of the pattern ``pattern(from:count:)``.
    public static func bytes(count: UInt64) -> MockResponse {
        MockResponse([.head(ResponseHead(status: 200)), .bytes(count: count)])
    }

    /// Returns a response that sends only these bytes and then closes the connection.
    public static func raw(_ text: String) -> MockResponse { MockResponse([.raw(Data(text.utf8)), .close]) }

    /// A response that is not HTTP.
    public static var garbage: MockResponse { raw("\u{1}\u{2}\u{7F}{]\r\n\r\n!garbage\u{0}\r\n") }

    /// A response that never begins.
    public static let stall = MockResponse([.stall])

    /// Returns this response, sent after a delay.
    public func after(_ delay: Duration) -> MockResponse { MockResponse([.wait(delay)] + steps) }

    /// Returns this response, sent at most this many bytes at a time.
    public func dripping(bytes: Int = 1, every interval: Duration) -> MockResponse {
        MockResponse([.drip(bytes: bytes, every: interval)] + steps)
    }

    /// Returns this response, cut after this many bytes of its body. The head still declares the whole body, and the
    /// step `end` then ends the response early.
    public func truncated(after count: UInt64, by end: Step = .close) -> MockResponse {
        var left = count
        var kept: [Step] = []
        for step in declaringLength().steps {
            switch step {
            case .body(let bytes) where UInt64(bytes.count) >= left:
                return MockResponse(kept + [.body(bytes.prefix(Int(left))), end])
            case .generated(let count?, _) where count < left: left -= count
            case .generated(_, let make):
                let limit = left
                kept.append(.generated(count: limit) { $0 < limit ? make($0)?.prefix(Int(limit - $0)) : nil })
                return MockResponse(kept + [end])
            case .body(let bytes): left -= UInt64(bytes.count)
            case .interim, .head, .pieces, .trailers, .raw, .wait, .pause, .drip, .webSocket, .stall, .close, .reset:
                break
            }
            kept.append(step)
        }
        return MockResponse(kept + [end])
    }

    /// Returns this response with automatic framings replaced: the steps that follow a head decide the head's framing.
    func declaringLength() -> MockResponse {
        var result = self
        for (index, step) in steps.enumerated() {
            guard case .head(let head, .automatic) = step else { continue }
            result.steps[index] = .head(head, Self.framing(of: head, before: steps[(index + 1)...]))
        }
        return result
    }

    private static func framing(of head: ResponseHead, before steps: ArraySlice<Step>) -> Framing {
        if head["Transfer-Encoding"] != nil || head["Content-Length"] != nil { return .automatic }
        var length: UInt64 = 0
        for step in steps {
            switch step {
            case .body(let bytes): length += UInt64(bytes.count)
            case .generated(.some(let count), _): length += count
            case .generated(.none, _), .pieces, .trailers: return .chunked
            case .interim, .head, .raw, .wait, .pause, .drip, .webSocket, .stall, .close, .reset: break
            }
        }
        let mayBeBodiless = length == 0 && [101, 204, 304].contains(head.status)
        return mayBeBodiless ? .automatic : .length(length)
    }
}
