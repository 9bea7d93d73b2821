/// The parts of the contract of ``Transport`` that a transport keeps although not every engine can.
///
/// An engine on libcurl keeps the whole contract. An engine on URLSession cannot, because URLSession hides parts of the
/// protocol. The framework refuses a request that would be unsafe without a missing capability.
public struct TransportCapabilities: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A request is sent once. It is sent again only if the peer has certainly not processed it, or once if its
    /// connection was lost and it is idempotent or answers a proxy's challenge (T2, T20).
    public static let sendsOnce = TransportCapabilities(rawValue: 1 << 0)
    /// Target, method, field order and repeats of a request are sent as given (T3).
    public static let keepsRequest = TransportCapabilities(rawValue: 1 << 1)
    /// Order, repeats and bytes of a response's fields are delivered as received (T8).
    public static let keepsResponseFields = TransportCapabilities(rawValue: 1 << 2)
    /// A body that may not be delivered yet is not read from the network either (T16).
    public static let holdsBackPeer = TransportCapabilities(rawValue: 1 << 3)
    /// The limit for connecting is kept (T23).
    public static let observesConnecting = TransportCapabilities(rawValue: 1 << 4)
    /// The delegate judges the peers of new connections (T25).
    public static let asksForTrust = TransportCapabilities(rawValue: 1 << 5)
    /// The delegate judges the peers of reused connections again (T25).
    public static let asksOnReuse = TransportCapabilities(rawValue: 1 << 6)
    /// The transport sends the request with the HTTP version that it names.
    public static let choosesVersion = TransportCapabilities(rawValue: 1 << 7)
    /// A connection can be switched to another protocol (T26).
    public static let upgrades = TransportCapabilities(rawValue: 1 << 8)
    /// A connection can be switched to WebSocket, but the platform performs the handshake and frames the messages, so
    /// other protocols are not possible (T26). A transport with `.upgrades` needs no such capability.
    public static let webSockets = TransportCapabilities(rawValue: 1 << 9)
    /// The heads of interim responses are delivered (T27).
    public static let deliversInformation = TransportCapabilities(rawValue: 1 << 10)
    /// The fields that follow a response's body are delivered (T28).
    public static let deliversTrailers = TransportCapabilities(rawValue: 1 << 11)
    /// Fields can follow a request's body (T29).
    public static let sendsTrailers = TransportCapabilities(rawValue: 1 << 12)
    /// The response is delivered while the request's body is still being sent (T30).
    public static let overlapsBodies = TransportCapabilities(rawValue: 1 << 13)

    /// All capabilities: the whole contract.
    public static let all: TransportCapabilities = [
        .sendsOnce, .keepsRequest, .keepsResponseFields, .holdsBackPeer, .observesConnecting, .asksForTrust,
        .asksOnReuse, .choosesVersion, .upgrades, .webSockets, .deliversInformation, .deliversTrailers, .sendsTrailers,
        .overlapsBodies,
    ]
}
