/// A type that changes a request before it is sent. The session calls the adapter in each attempt, with a newly built
/// request.
public protocol RequestAdapter: Sendable {
    /// Changes the request. If the method throws an error, the attempt fails with the stage `adapting`.
    func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws
}

/// The context of the request that an adapter changes.
public struct RequestAdapterState: Sendable {
    /// The identifier of the request, the same in all its attempts.
    public let requestID: RequestID
    /// The session that made the request.
    public let session: Session
    /// The number of the attempt, starting at 1.
    public let attempt: Int
    /// The time until the request's total timeout or the attempt's timeout passes, whichever is sooner; nil if neither
    /// timeout is set.
    ///
    /// The time is measured when the session calls the adapter.
    public internal(set) var timeLeft: Duration?
    let core: RequestCore
}

/// A type that decides whether a failed request is retried.
///
/// The session asks its retriers after a failure in any stage: building, adapting, sending, validating or serializing.
/// The session does not ask retriers about a cancelled request. The session itself does not limit the number of
/// attempts. A retrier should therefore check ``Request/retryCount``.
public protocol RequestRetrier: Sendable {
    /// Returns whether the request is retried, and after which delay.
    func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult
}

/// A retrier that is an adapter too, because it sets the idempotency key of the requests that it may retry.
/// ``Request/retry(using:)`` adds it as both.
package protocol KeySettingRetrier: RequestInterceptor {}

/// The decision of a retrier. The session asks the retriers in order, and uses the first decision other than
/// ``doNotRetry``.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RetryResult: Sendable {
    /// Retries the request at once.
    case retry
    /// Retries the request after this delay, measured by the session's clock.
    case retryAfter(Duration)
    /// Leaves the decision to the next retrier. If all retriers return this case, the request fails with its original
    /// error.
    case doNotRetry
    /// Fails the request with ``RequestError/Code/retryFailed``. The underlying error is a ``RetryFailed``, which
    /// contains the given error and the original error.
    ///
    /// If the given error is a ``RetryRefusal``, the request fails with its original error instead. The
    /// ``RequestError/retryRefusal`` of that error is the reason.
    case doNotRetryWithError(any Error)

    /// Returns a retry after a random delay in the range, so that clients that failed together do not retry together.
    ///
    /// The session's random source determines the delay.
    public static func retryAfter(within delays: ClosedRange<Duration>, for session: Session) -> RetryResult {
        let span = delays.upperBound - delays.lowerBound
        return .retryAfter(delays.lowerBound + span * session.configuration.random.fraction())
    }
}

/// A type that adapts requests and decides about retries.
///
/// Neither method has a default. So the compiler finds a method with another signature, such as Alamofire's with a
/// completion handler, which would never be called.
///
/// A type that only adapts or only retries conforms to ``RequestAdapter`` or ``RequestRetrier``. `.adapter(_:)` and
/// `.retrier(_:)` make an interceptor of it:
///
///     let session = Session(interceptor: .adapter(Signed(key: key)))
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

/// The reason why a retrier refuses another attempt. After a refusal, the session asks no other retrier.
///
///     return .doNotRetryWithError(RetryRefusal("the circuit is open"))
///
/// The request fails with its original error. The ``RequestError/retryRefusal`` of that error is the reason.
public struct RetryRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, in one line.
    public let reason: String

    /// Creates a refusal with a reason in one line.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { reason }
}
