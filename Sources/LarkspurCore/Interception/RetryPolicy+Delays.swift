extension RetryPolicy {
    /// The delays before retries. They grow exponentially up to a maximum, and are randomised.
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
            /// The delay plus a random addition, up to this fraction of the delay. With 0.25, the result is up to a
            /// quarter longer than the delay. Only this kind also changes the delay of a server's `Retry-After`.
            case added(Double)

            /// The maximum extension of a delay, as a fraction of the delay; 0 for the other kinds.
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

        /// Returns the range from which the delay before a retry is chosen. If the computed delay is not a number,
        /// `cap` is used. A negative delay becomes zero.
        ///
        /// - Parameter retry: The number of the retry, starting at 0.
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

        /// Returns a key whose value is a random UUID, the same in all attempts of a request. If the request already
        /// has the field, the field is not changed.
        public static func automatic(header: String = "Idempotency-Key") -> IdempotencyKey {
            IdempotencyKey(field: header)
        }
    }
}

/// The `Retry-After` field of a response (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// The maximum delay, about 30 years. Some clocks fail with longer delays.
    package static let longest = Duration.seconds(1_000_000_000)

    /// Returns the delay, or nil if the field is missing or invalid.
    ///
    /// If the field is a date, the delay is the time from the response's `Date` to that date, because both dates come
    /// from the server's clock. For a date in the past, the delay is zero.
    package static func delay(in head: ResponseHead?) -> Duration? {
        guard let head, let value = head["Retry-After"] else { return nil }
        if let seconds = Int64(digits: value.utf8) { return min(.seconds(seconds), longest) }
        let now = head["Date"].flatMap { Date(httpDate: $0) } ?? Date()
        return Date(httpDate: value, now: now).map { min(.seconds(max(0, $0.timeIntervalSince(now))), longest) }
    }
}

extension RequestCore {
    /// The idempotency key of this request, generated at its first use and the same in all attempts.
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
