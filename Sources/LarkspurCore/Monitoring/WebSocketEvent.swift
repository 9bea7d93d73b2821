/// An event of a WebSocket connection, for monitors (``RequestEvent/webSocket(_:)``).
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum WebSocketEvent: Sendable, Hashable {
    /// The handshake has succeeded. The values are the chosen protocol, and whether messages are compressed.
    case open(protocol: String?, isCompressed: Bool)
    /// A message was accepted for sending, with its number of bytes.
    case sendMessage(Int)
    /// A message was received, with its number of bytes after decompression.
    case receiveMessage(Int)
    /// A ping was sent.
    case sendPing
    /// The peer's ping was received and is answered.
    case receivePing
    /// The pong for a ping was received, after this time.
    case receivePong(after: Duration)
    /// The connection was lost before this number of accepted messages was sent. They are not sent again.
    case dropMessages(Int)
    /// The connection has ended.
    case close(WebSocketClose)
}

/// The end of a WebSocket connection.
public struct WebSocketClose: Sendable, Hashable {
    /// The code of the close that began the end. It is ``WebSocketCloseCode/abnormal`` if the connection ended without
    /// a close, and ``WebSocketCloseCode/noStatus`` if the peer gave no code.
    public let code: WebSocketCloseCode
    /// The peer's or the caller's text for the close; often empty.
    public let reason: String
    /// Whether both sides have sent a close.
    public let isClean: Bool
    /// Whether the peer's close came first.
    public let byPeer: Bool

    /// Creates a description of an end, for tests.
    public init(code: WebSocketCloseCode, reason: String = "", isClean: Bool, byPeer: Bool) {
        self.code = code
        self.reason = reason
        self.isClean = isClean
        self.byPeer = byPeer
    }

    package static let lost = WebSocketClose(code: .abnormal, isClean: false, byPeer: false)
}

extension WebSocketClose: CustomStringConvertible {
    /// One line, with control characters escaped: `closed by the peer with 1001 going away: bye`.
    public var description: String {
        let party = byPeer ? "the peer" : "the client"
        let text = "closed by \(party) with \(code)" + (reason.isEmpty ? "" : ": \(reason.printable)")
        return isClean ? text : text + ", not cleanly"
    }
}

/// A code that says why a WebSocket was closed (RFC 6455, section 7.4).
///
/// The codes from 4000 to 4999 are free for applications.
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    /// Creates a code with this number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection is fulfilled.
    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// 1001: a server stops, or a client goes elsewhere.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// 1002: the peer violated the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// 1003: the peer sent a type of message that the other side does not support.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// 1005: the close had no code. This code is never sent.
    public static let noStatus = WebSocketCloseCode(rawValue: 1005)
    /// 1006: the connection ended without a close. This code is never sent.
    public static let abnormal = WebSocketCloseCode(rawValue: 1006)
    /// 1007: a message does not fit its type, for example a text that is not UTF-8.
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    /// 1008: a message violates a rule of the application.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// 1009: a message is too large.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// 1010: the server lacks an extension that the client needs.
    public static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
    /// 1011: the server has an unexpected problem.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)
    /// 1012: the server restarts.
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// 1013: the server is overloaded.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// 1014: a gateway got an invalid response from its server.
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// Whether the code may be sent: 1000 to 1003, 1007 to 1014, and 3000 to 4999.
    public var mayBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

extension WebSocketCloseCode: CustomStringConvertible {
    /// The number, with its meaning if it is registered: `1001 going away`.
    public var description: String { Self.names[rawValue].map { "\(rawValue) \($0)" } ?? "\(rawValue)" }

    private static let names: [UInt16: String] = [
        1000: "normal", 1001: "going away", 1002: "protocol error", 1003: "unsupported data", 1005: "no status",
        1006: "abnormal", 1007: "invalid payload", 1008: "policy violation", 1009: "message too big",
        1010: "mandatory extension", 1011: "internal error", 1012: "service restart", 1013: "try again later",
        1014: "bad gateway",
    ]
}
