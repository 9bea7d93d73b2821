/// How long a request and the parts of its way may take; nil is without limit. They are kept to the millisecond.
///
///     configuration.options.timeouts.total = .seconds(30)
///     request.timeout(.connect(.milliseconds(300)), .total(.seconds(5)))
///
/// Three limit each hop. They are the transport's, whose clock starts with the hop: time spent waiting for a place among
/// the connections of a host does not count, nor does a pause that its user made. Two span hops, and count everything on
/// the session's clock. Whichever passes, the error's code is `.timedOut`, and its message names the limit.
public struct RequestTimeouts: Sendable, Hashable {
    /// From a hop's start until its connection stands, TLS handshake included; 30 seconds by default.
    @CompactDuration(seconds: 30) public var connect: Duration?

    /// From a hop's start, or from the end of the request's body if that is later, until the response's head; 60 seconds
    /// by default.
    @CompactDuration(seconds: 60) public var firstByte: Duration?

    /// Between any two pieces of a body, sent or received, while nobody holds them back; 60 seconds by default.
    @CompactDuration(seconds: 60) public var idle: Duration?

    /// One attempt, from its building to its last serializer; without limit by default.
    ///
    /// An attempt that takes longer has failed: retriers are asked, and another attempt has the whole time again.
    @CompactDuration public var attempt: Duration?

    /// The request, from its start to its end, with all attempts and the delays between them; without limit by default.
    ///
    /// It ends the request wherever it stands, also in code that does not listen, and nobody is asked. Delays that would
    /// pass it are not begun. It begins with the request, or, if the first to name it is a modifier, an adapter or a whole
    /// request, once that request is built.
    @CompactDuration public var total: Duration?

    /// The defaults.
    public init() {}

    var spanHops: Bool { $attempt.nanoseconds != CompactDuration.none || $total.nanoseconds != CompactDuration.none }

    /// The same with the other's limits in place of those that are as by default.
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

    /// One limit with its value, as `request.timeout(_:)` takes it.
    public struct Limit: Sendable {
        private let limit: WritableKeyPath<RequestTimeouts, Duration?> & Sendable
        private let duration: Duration?

        /// A limit for each hop until its connection stands.
        public static func connect(_ duration: Duration?) -> Limit { Limit(limit: \.connect, duration: duration) }
        /// A limit for each hop until its response begins.
        public static func firstByte(_ duration: Duration?) -> Limit { Limit(limit: \.firstByte, duration: duration) }
        /// A limit for each pause within a body.
        public static func idle(_ duration: Duration?) -> Limit { Limit(limit: \.idle, duration: duration) }
        /// A limit for each attempt.
        public static func attempt(_ duration: Duration?) -> Limit { Limit(limit: \.attempt, duration: duration) }
        /// A limit for the whole request.
        public static func total(_ duration: Duration?) -> Limit { Limit(limit: \.total, duration: duration) }

        func apply(to timeouts: inout RequestTimeouts) { timeouts[keyPath: limit] = duration }
    }
}
