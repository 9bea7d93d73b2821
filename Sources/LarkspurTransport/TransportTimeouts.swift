/// How long a hop may take, in whole milliseconds; nil is without limit.
///
/// The clocks start when the hop does: time spent waiting for a place among the connections of a host does not count.
public struct TransportTimeouts: Sendable, Hashable {
    private static let unlimited = UInt32.max

    private var connectMilliseconds: UInt32 = 30_000
    private var firstByteMilliseconds: UInt32 = 60_000
    private var idleMilliseconds: UInt32 = 60_000
    private var totalMilliseconds: UInt32 = unlimited

    public init() {}

    /// From the start until the connection stands, TLS handshake included; 30 seconds by default.
    public var connect: Duration? {
        get { Self.duration(connectMilliseconds) }
        set { connectMilliseconds = Self.milliseconds(newValue) }
    }

    /// From the start, or from the end of the request's body if that is later, until the response's head; 60 seconds
    /// by default.
    public var firstByte: Duration? {
        get { Self.duration(firstByteMilliseconds) }
        set { firstByteMilliseconds = Self.milliseconds(newValue) }
    }

    /// Between any two bytes sent or received, while nobody holds them back; 60 seconds by default.
    public var idle: Duration? {
        get { Self.duration(idleMilliseconds) }
        set { idleMilliseconds = Self.milliseconds(newValue) }
    }

    /// From the start until the end of the response's body; without limit by default.
    public var total: Duration? {
        get { Self.duration(totalMilliseconds) }
        set { totalMilliseconds = Self.milliseconds(newValue) }
    }

    private static func duration(_ milliseconds: UInt32) -> Duration? {
        milliseconds == unlimited ? nil : .milliseconds(milliseconds)
    }

    /// Rounded up, so that a limit below a millisecond is not none at all.
    private static func milliseconds(_ duration: Duration?) -> UInt32 {
        guard let duration else { return unlimited }
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64(unlimited) / 1_000 - 1 else { return unlimited - 1 }
        return UInt32(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
