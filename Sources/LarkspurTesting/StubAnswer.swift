import Larkspur

/// The steps by which a stub transport performs one request.
public struct StubAnswer: Sendable {
    /// One action of the transport.
    public enum Step: Sendable {
        /// Presents this TLS peer. If the request asks for trust, the delegate decides about the peer before anything
        /// is sent. Otherwise the errors in `PeerTrust` decide.
        ///
        /// This step must be the first step. It has no effect on a plain `http` request.
        case peer(PeerTrust)
        /// Delivers status and fields. A head with a status below 200 is interim, except for 101.
        case head(ResponseHead)
        /// Delivers bytes of the body.
        case body(Data)
        /// Delivers fields that follow the body.
        case trailers(HTTPHeaders)
        /// Reports this many bytes of the request's body as sent. The transport inserts this step first if the body has
        /// a known length.
        case sent(UInt64)
        /// Waits on the transport's clock.
        case wait(Duration)
        /// Waits until the task is cancelled.
        case stall
        /// Ends with this error.
        case fail(TransportError)
        /// Asks the delegate for a fresh stream of the request's body, as after a lost connection. The step has an
        /// effect only if the body is a stream.
        case rewind
        /// Continues as a WebSocket until one of both sides ends the connection. The step before it is a head with the
        /// status 101, as in the steps of ``StubAnswer/webSocket(answering:protocols:compression:handler:)``.
        case webSocket(MockWebSocket, handler: @Sendable (MockWebSocket) async throws -> Void)
    }

    /// The transport's actions, in this order.
    public var steps: [Step]

    /// Creates an answer from steps.
    public init(_ steps: [Step]) { self.steps = steps }

    /// Returns a complete response. The transport delivers each chunk as a separate `.body` event.
    public static func response(_ status: Int = 200, headers: HTTPHeaders = [:], chunks: [Data] = []) -> StubAnswer {
        StubAnswer([.head(ResponseHead(status: status, fields: Array(headers)))] + chunks.map(Step.body))
    }

    /// Returns a response with a text.
    public static func text(_ text: String, status: Int = 200, contentType: String = "text/plain") -> StubAnswer {
        response(status, headers: ["Content-Type": contentType], chunks: [Data(text.utf8)])
    }

    /// Returns a response with this JSON text.
    public static func json(_ text: String, status: Int = 200) -> StubAnswer {
        self.text(text, status: status, contentType: "application/json")
    }

    /// Returns a redirect to this location.
    public static func redirect(_ status: Int = 302, to location: String) -> StubAnswer {
        response(status, headers: ["Location": location])
    }

    /// Returns a failure without a response.
    public static func failure(_ code: TransportError.Code) -> StubAnswer {
        StubAnswer([.fail(TransportError(code))])
    }

    /// Returns this answer with a first step that presents this TLS peer.
    public func by(_ peer: PeerTrust) -> StubAnswer { StubAnswer([.peer(peer)] + steps) }

    /// Returns this answer with a delay before its first step.
    public func after(_ delay: Duration) -> StubAnswer { StubAnswer([.wait(delay)] + steps) }
}
