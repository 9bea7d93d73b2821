/// The rules for when a failed request is sent again: for ``RetryPolicy``, resumable uploads and event streams.
///
/// The schedule has no state. The caller counts the retries in a row and asks for the next step. Before a retry, the
/// caller must also withdraw a retry from the session's budget by `SessionContext.withdrawRetry()`.
package struct RetrySchedule: Sendable {
    package enum Step: Sendable {
        /// Send the request again after a random delay of this range.
        case retry(after: ClosedRange<Duration>)
        /// The limit is reached.
        case stop
        /// The server's `Retry-After` is longer than the maximum.
        case refuse(RetryRefusal)
    }

    /// The maximum number of retries in a row; nil for no limit.
    var limit: Int?
    /// The delays if the response has no `Retry-After`.
    var backoff: RetryPolicy.Backoff
    /// The minimum delay after a response with `Retry-After`, even if the field asks for a shorter delay.
    var minimumDelay: Duration
    /// The longest `Retry-After` to wait for. If a server asks for a longer delay, the request is not sent again.
    var maximumRetryAfter: Duration
    /// The public name of the setting for `maximumRetryAfter`, for the text of the refusal.
    var maximumName: String

    package init(
        limit: Int?, backoff: RetryPolicy.Backoff, minimumDelay: Duration = .zero, maximumRetryAfter: Duration,
        maximumName: String = "maximumRetryAfter"
    ) {
        self.limit = limit
        self.backoff = backoff
        self.minimumDelay = minimumDelay
        self.maximumRetryAfter = maximumRetryAfter
        self.maximumName = maximumName
    }

    /// Returns the step after a failure.
    ///
    /// - Parameters:
    ///   - number: The number of retries before this one.
    ///   - head: The head of the failed response; nil if there was none.
    package func step(retry number: Int, after head: ResponseHead?) -> Step {
        if let limit, number >= limit { return .stop }
        guard let asked = RetryAfter.delay(in: head) else { return .retry(after: backoff.delays(retry: number)) }
        guard asked <= maximumRetryAfter else {
            return .refuse(
                RetryRefusal(
                    "the server asks to wait for \(asked.readable), longer than \(maximumName) (\(maximumRetryAfter.readable))"
                ))
        }
        let delay = max(asked, minimumDelay)
        return .retry(after: delay...delay + delay * backoff.jitter.addition)
    }
}

extension RandomSource {
    /// Returns a random duration of the range.
    package func duration(in range: ClosedRange<Duration>) -> Duration {
        let width = range.upperBound - range.lowerBound
        return width > .zero ? range.lowerBound + width * fraction() : range.lowerBound
    }
}

extension SessionContext {
    /// Withdraws a retry from the session's budget. Returns nil, or the reason for a refusal if no retry is left.
    package func withdrawRetry() -> RetryRefusal? {
        guard retryAccount?.withdraw() == false else { return nil }
        return RetryRefusal("the session's retry budget is used up")
    }
}

extension RequestCore {
    /// Deposits a fraction of a retry in the session's retry budget, once per request.
    ///
    /// - Parameter isRetry: Whether the request repeats a failed request. Such a request deposits nothing.
    package func depositForRetries(isRetry: Bool = false) {
        guard let account = context.retryAccount else { return }
        if box.withLock({ $0.hasDeposited.setOnce() }), !isRetry { account.add() }
    }
}
