import Larkspur

/// What a stub does with one request: steps in order, and then the end.
public struct StubAnswer: Sendable {
    /// One thing that the transport does for an answer.
    public enum Step: Sendable {
        /// The peer of a TLS connection, of which is asked before anything is sent where the request wants that. It is the
        /// first step, and of no meaning in clear text.
        case peer(PeerTrust)
        /// Status and fields.
        case head(ResponseHead)
        /// Bytes of the body.
        case body(Data)
        /// Reports so many bytes of the request's body as sent; comes by itself, first, for a body of known length.
        case sent(UInt64)
        /// Sleeps on the transport's clock.
        case wait(Duration)
        /// Does nothing more until the task is cancelled.
        case stall
        /// Ends with this error.
        case fail(TransportError)
        /// Needs the request's body from its first byte again, as after a lost connection.
        case rewind
    }

    /// What the transport does, in this order.
    public var steps: [Step]

    /// An answer of these steps.
    public init(_ steps: [Step]) { self.steps = steps }

    /// A whole response, its body in as many events as there are chunks.
    public static func response(_ status: Int = 200, headers: HTTPHeaders = [:], chunks: [Data] = []) -> StubAnswer {
        StubAnswer([.head(ResponseHead(status: status, fields: Array(headers)))] + chunks.map(Step.body))
    }

    /// A text.
    public static func text(_ text: String, status: Int = 200, contentType: String = "text/plain") -> StubAnswer {
        response(status, headers: ["Content-Type": contentType], chunks: [Data(text.utf8)])
    }

    /// A text of JSON, as it is.
    public static func json(_ text: String, status: Int = 200) -> StubAnswer {
        self.text(text, status: status, contentType: "application/json")
    }

    /// A redirect to this place.
    public static func redirect(_ status: Int = 302, to location: String) -> StubAnswer {
        response(status, headers: ["Location": location])
    }

    /// An end without a response.
    public static func failure(_ code: TransportError.Code) -> StubAnswer {
        StubAnswer([.fail(TransportError(code))])
    }

    /// The same, by a peer that shows these certificates.
    public func by(_ peer: PeerTrust) -> StubAnswer { StubAnswer([.peer(peer)] + steps) }

    /// The same, begun after a delay.
    public func after(_ delay: Duration) -> StubAnswer { StubAnswer([.wait(delay)] + steps) }
}
