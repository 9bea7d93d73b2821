/// The time limits of a request; nil means no limit. The resolution is a millisecond.
///
///     configuration.options.timeouts.total = .seconds(30)
///     request.timeout(.connect(.milliseconds(300)), .total(.seconds(5)))
///
/// ``connect``, ``firstByte`` and ``idle`` limit each hop. The transport measures them from the start of the hop. They
/// include neither the wait for a free connection to the host nor pauses by the caller. ``attempt`` and ``total`` span
/// hops and count all time on the session's clock. When a limit passes, the error's code is `.timedOut`, and its
/// message names the limit.
public struct RequestTimeouts: Sendable, Hashable {
    /// The time from the start of a hop until its connection is established, including the TLS handshake; 30 seconds by
    /// default.
    @CompactDuration(seconds: 30) public var connect: Duration?

    /// The time until the response's head arrives, from the start of a hop or, if later, from the end of the request's
    /// body; 60 seconds by default.
    @CompactDuration(seconds: 60) public var firstByte: Duration?

    /// The time between two parts of a body, sent or received, except while the reader pauses; 60 seconds by default.
    @CompactDuration(seconds: 60) public var idle: Duration?

    /// The time of one attempt, from building its request to the end of its last serializer; no limit by default.
    ///
    /// An attempt that takes longer fails. The retriers then decide about another attempt, which has the whole time
    /// again.
    @CompactDuration public var attempt: Duration?

    /// The time of the request from its start to its end, with all attempts and the delays between them; no limit by
    /// default.
    ///
    /// The limit ends the request at any stage, even while user code ignores cancellation, and without asking the
    /// retriers. A retry whose delay would exceed the limit is not made. The time starts when the request starts. If
    /// only a modifier, an adapter or a complete request sets the limit, the time starts when the first attempt's
    /// request has been built.
    @CompactDuration public var total: Duration?

    /// Creates the default limits.
    public init() {}

    package var spanHops: Bool {
        $attempt.nanoseconds != CompactDuration.none || $total.nanoseconds != CompactDuration.none
    }

    /// Returns these limits, with the limits of `other` in place of default values.
    func filled(from other: RequestTimeouts) -> RequestTimeouts {
        let standard = RequestTimeouts()
        var result = self
        if $connect == standard.$connect { result.$connect = other.$connect }
        if $firstByte == standard.$firstByte { result.$firstByte = other.$firstByte }
        if $idle == standard.$idle { result.$idle = other.$idle }
        if $attempt == standard.$attempt { result.$attempt = other.$attempt }
        if $total == standard.$total { result.$total = other.$total }
        return result
    }

    func ofHop(timeLeft: Duration?) -> TransportTimeouts {
        var timeouts = TransportTimeouts()
        (timeouts.$connect, timeouts.$firstByte, timeouts.$idle) = ($connect, $firstByte, $idle)
        if let timeLeft { timeouts.total = timeLeft }
        return timeouts
    }

    /// One of the limits with its value, for `request.timeout(_:)`.
    public struct Limit: Sendable {
        private let limit: WritableKeyPath<RequestTimeouts, Duration?> & Sendable
        private let duration: Duration?

        /// Returns a limit for the time until the connection of a hop is established.
        public static func connect(_ duration: Duration?) -> Limit { Limit(limit: \.connect, duration: duration) }
        /// Returns a limit for the time until the response of a hop begins.
        public static func firstByte(_ duration: Duration?) -> Limit { Limit(limit: \.firstByte, duration: duration) }
        /// Returns a limit for the time between two parts of a body.
        public static func idle(_ duration: Duration?) -> Limit { Limit(limit: \.idle, duration: duration) }
        /// Returns a limit for each attempt.
        public static func attempt(_ duration: Duration?) -> Limit { Limit(limit: \.attempt, duration: duration) }
        /// Returns a limit for the whole request.
        public static func total(_ duration: Duration?) -> Limit { Limit(limit: \.total, duration: duration) }

        /// Whether this is a limit for the whole request.
        package var isTotal: Bool { limit as AnyKeyPath == \RequestTimeouts.total }

        package func apply(to timeouts: inout RequestTimeouts) { timeouts[keyPath: limit] = duration }
    }
}
