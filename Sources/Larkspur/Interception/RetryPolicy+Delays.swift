extension RetryPolicy {
    /// How long is waited before a retry: longer each time, up to a limit, and not for everybody the same.
    ///
    ///     RetryPolicy(backoff: .init(scale: .milliseconds(200), cap: .seconds(5)))
    public struct Backoff: Sendable, Hashable {
        /// What chance makes of a delay, so that clients which failed together do not come back together.
        public enum Jitter: Sendable, Hashable {
            /// The delay stays as it is.
            case none
            /// Anything from nothing up to the delay.
            case full
            /// Anything from half the delay up to the whole.
            case equal
            /// Anything from the delay up to so much more of it: with 0.25, up to a quarter more. For delays that must not
            /// be shortened, such as those that a server asks for.
            case added(Double)

            /// The part of a delay that is added at most.
            var addition: Double {
                guard case .added(let part) = self, part > 0 else { return 0 }
                return min(part, 1_000)
            }
        }

        /// How many times longer each delay is than the one before.
        public var base: Double
        /// The delay before the first retry.
        public var scale: Duration
        /// The longest delay.
        public var cap: Duration
        /// What chance makes of each delay.
        public var jitter: Jitter

        /// Half a second, one, two, four and so on, half a minute at most, unless told otherwise.
        public init(
            base: Double = 2, scale: Duration = .milliseconds(500), cap: Duration = .seconds(30), jitter: Jitter = .full
        ) {
            self.base = base
            self.scale = scale
            self.cap = cap
            self.jitter = jitter
        }

        /// The delays that a retry, counted from 0, may have. Numbers that make no sense give the cap, or none if they are
        /// negative.
        func delays(retry: Int) -> ClosedRange<Duration> {
            let cap = max(0, min(cap, RetryAfter.longest) / .seconds(1))
            let seconds = scale / .seconds(1) * pow(base, Double(retry))
            let delay = Duration.seconds(seconds < cap ? max(0, seconds) : cap)
            switch jitter {
            case .none: return delay...delay
            case .full: return .zero...delay
            case .equal: return delay / 2...delay
            case .added: return delay...delay + delay * jitter.addition
            }
        }
    }

    /// How requests that must not have their effect twice are made known to the server.
    public struct IdempotencyKey: Sendable, Hashable {
        static let methods: Set<HTTPMethod> = [.post, .patch]

        let field: String

        /// A random UUID for each request, the same in all its attempts. A field that the request has already stands.
        public static func automatic(header: String = "Idempotency-Key") -> IdempotencyKey {
            IdempotencyKey(field: header)
        }
    }
}

/// What a response says about when to come back, RFC 9110 section 10.2.3.
enum RetryAfter {
    /// Some thirty years: what is longer counts as that, so that no clock is asked for what it cannot count.
    static let longest = Duration.seconds(1_000_000_000)

    /// Nil if it says nothing, or nothing that can be read. A date counts from the response's own `Date`, because the two
    /// are of one clock; a date that is past means now.
    static func delay(in head: ResponseHead?) -> Duration? {
        guard let head, let value = head["Retry-After"] else { return nil }
        if let seconds = Int64(digits: value.utf8) { return min(.seconds(seconds), longest) }
        let now = head["Date"].flatMap { Date(httpDate: $0) } ?? Date()
        return Date(httpDate: value, now: now).map { min(.seconds(max(0, $0.timeIntervalSince(now))), longest) }
    }
}

extension RequestCore {
    /// One for all attempts, drawn when it is first asked for.
    var idempotencyKey: String {
        if let key = read({ $0.idempotencyKey }) { return key }
        let new = context.configuration.random.uuid().uuidString.lowercased()
        return read { state in
            let key = state.idempotencyKey ?? new
            state.idempotencyKey = key
            return key
        }
    }
}
