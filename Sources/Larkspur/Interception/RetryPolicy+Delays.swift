extension RetryPolicy {
    /// The delays before retries: exponential, up to a maximum, and random.
    ///
    ///     RetryPolicy(backoff: .init(scale: .milliseconds(200), cap: .seconds(5)))
    public struct Backoff: Sendable, Hashable {
        /// How each delay is randomised, so that clients that failed together do not retry together.
        public enum Jitter: Sendable, Hashable {
            /// The exact delay.
            case none
            /// A random duration between zero and the delay (full jitter).
            case full
            /// A random duration between half the delay and the delay.
            case equal
            /// A random duration between the delay and the delay plus this fraction of it: with 0.25, up to a quarter
            /// more. It suits delays that must not be shortened, such as a server's `Retry-After`.
            case added(Double)

            /// The largest fraction of a delay that is added to it.
            var addition: Double {
                guard case .added(let part) = self, part > 0 else { return 0 }
                return min(part, 1_000)
            }
        }

        /// The factor from one delay to the next; 2 by default.
        public var base: Double
        /// The delay before the first retry; 500 milliseconds by default.
        public var scale: Duration
        /// The maximum delay; 30 seconds by default.
        public var cap: Duration
        /// How each delay is randomised; ``Jitter/full`` by default.
        public var jitter: Jitter

        /// Creates a backoff. By default the delays are up to 0.5, 1, 2, 4 seconds and so on, at most 30 seconds.
        public init(
            base: Double = 2, scale: Duration = .milliseconds(500), cap: Duration = .seconds(30), jitter: Jitter = .full
        ) {
            self.base = base
            self.scale = scale
            self.cap = cap
            self.jitter = jitter
        }

        /// Returns the range of delays for a retry, counted from 0. A delay that is not a number becomes `cap`, a
        /// negative one becomes zero.
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

    /// A header field by which a server recognises a POST or PATCH that it has already processed.
    public struct IdempotencyKey: Sendable, Hashable {
        static let methods: Set<HTTPMethod> = [.post, .patch]

        let field: String

        /// Sends a random UUID, the same in all attempts of a request. A field that the request already has is kept.
        public static func automatic(header: String = "Idempotency-Key") -> IdempotencyKey {
            IdempotencyKey(field: header)
        }
    }
}

/// The `Retry-After` field of a response (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The maximum delay, about 30 years. Clocks may fail with longer ones.
    static let longest = Duration.seconds(1_000_000_000)

    /// Returns the delay, or nil if the field is missing or invalid.
    ///
    /// A date is compared with the response's `Date`, because both come from the server's clock. For a date in the
    /// past, the delay is zero.
    static func delay(in head: ResponseHead?) -> Duration? {
        guard let head, let value = head["Retry-After"] else { return nil }
        if let seconds = Int64(digits: value.utf8) { return min(.seconds(seconds), longest) }
        let now = head["Date"].flatMap { Date(httpDate: $0) } ?? Date()
        return Date(httpDate: value, now: now).map { min(.seconds(max(0, $0.timeIntervalSince(now))), longest) }
    }
}

extension RequestCore {
    /// The key of this request, generated at its first use and the same in all attempts.
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
