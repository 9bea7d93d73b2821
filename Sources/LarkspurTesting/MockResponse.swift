import Larkspur

/// What a `MockServer` does to answer one request: steps in order.
///
///     server.on("GET", "/slow") { _ in .text("at last").after(.seconds(2)) }
///     server.on("GET", "/broken") { _ in .text("a long text").truncated(after: 4) }
///     server.on("GET", "/by/hand") { _ in MockResponse([.raw(Data("HTTP/1.1 200 OK\r\nA".utf8)), .stall]) }
///
/// After the last step the connection is kept for the next request, unless a head, the request or a step says otherwise.
public struct MockResponse: Sendable {
    /// How the end of a body is told.
    public enum Framing: Sendable {
        /// As the head's own fields say; else by the length of the body steps that follow; else in chunks.
        case automatic
        /// This length is declared, whatever follows.
        case length(UInt64)
        /// Each body step is a chunk.
        case chunked
        /// By the end of the connection.
        case untilClose
    }

    /// One thing that the server does for an answer.
    public enum Step: Sendable {
        /// An interim response such as 103.
        case interim(Int, HTTPHeaders = [:])
        /// Status and fields, with what tells the body's end.
        case head(ResponseHead, Framing = .automatic)
        /// Bytes of the body, framed as the head says.
        case body(Data)
        /// A body that is made while it is sent: the closure gives the bytes from a position on, and nil or nothing at
        /// the end. It runs on the server's thread, so it must not block. The count is what it gives in all, if known.
        case generated(count: UInt64?, @Sendable (UInt64) -> Data?)
        /// Fields after the last chunk.
        case trailers(HTTPHeaders)
        /// These bytes as they are, whatever was sent before.
        case raw(Data)
        /// Waits for this time.
        case wait(Duration)
        /// Goes on when the closure returns, and closes the connection if it throws.
        case pause(@Sendable () async throws -> Void)
        /// From here on, sends only so many bytes at a time.
        case drip(bytes: Int, every: Duration)
        /// Does nothing more until the peer closes the connection.
        case stall
        /// Closes the connection in order.
        case close
        /// Closes the connection with a reset.
        case reset

        /// A body of so many bytes, which `MockResponse.pattern` gives as well, without building it.
        public static func bytes(count: UInt64) -> Step {
            .generated(count: count) { position in
                MockResponse.pattern(from: position, count: Int(min(count - position, UInt64(largestPiece))))
            }
        }
    }

    private static let largestPiece = 64 * 1024
    private static let period = 251
    private static let table = (0..<(largestPiece + period)).map { UInt8($0 % period) }

    /// What the server does, in this order.
    public var steps: [Step]

    /// An answer of these steps.
    public init(_ steps: [Step]) { self.steps = steps }

    /// The bytes of `Step.bytes` from a position on: no two places near each other look alike.
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
    /// A whole response, its body in as many steps as there are chunks.
    public static func response(
        _ status: Int = 200, headers: HTTPHeaders = [:], chunks: [Data] = [], framing: Framing = .automatic
    ) -> MockResponse {
        let head = ResponseHead(status: status, fields: Array(headers))
        return MockResponse([.head(head, framing)] + chunks.map(Step.body))
    }

    /// A text.
    public static func text(_ text: String, status: Int = 200, contentType: String = "text/plain") -> MockResponse {
        response(status, headers: ["Content-Type": contentType], chunks: [Data(text.utf8)])
    }

    /// A text of JSON, as it is.
    public static func json(_ text: String, status: Int = 200) -> MockResponse {
        self.text(text, status: status, contentType: "application/json")
    }

    /// A redirect to this place.
    public static func redirect(_ status: Int = 302, to location: String) -> MockResponse {
        response(status, headers: ["Location": location])
    }

    /// A body of so many bytes of the pattern.
    public static func bytes(count: UInt64) -> MockResponse {
        MockResponse([.head(ResponseHead(status: 200)), .bytes(count: count)])
    }

    /// These bytes and nothing else; then the connection is closed.
    public static func raw(_ text: String) -> MockResponse { MockResponse([.raw(Data(text.utf8)), .close]) }

    /// Bytes that are no HTTP.
    public static var garbage: MockResponse { raw("\u{1}\u{2}\u{7F}{]\r\n\r\n!garbage\u{0}\r\n") }

    /// Never answers.
    public static let stall = MockResponse([.stall])

    /// The same, begun after a delay.
    public func after(_ delay: Duration) -> MockResponse { MockResponse([.wait(delay)] + steps) }

    /// The same, only so many bytes at a time.
    public func dripping(bytes: Int = 1, every interval: Duration) -> MockResponse {
        MockResponse([.drip(bytes: bytes, every: interval)] + steps)
    }

    /// The same as far as so many bytes of its body, and then another end than the one it declared.
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
            case .interim, .head, .trailers, .raw, .wait, .pause, .drip, .stall, .close, .reset: break
            }
            kept.append(step)
        }
        return MockResponse(kept + [end])
    }

    /// The framing of each head decided by what follows it.
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
            case .generated(.none, _), .trailers: return .chunked
            case .interim, .head, .raw, .wait, .pause, .drip, .stall, .close, .reset: break
            }
        }
        let mayBeBodiless = length == 0 && (head.status == 204 || head.status == 304)
        return mayBeBodiless ? .automatic : .length(length)
    }
}
