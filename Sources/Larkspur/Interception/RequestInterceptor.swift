/// Changes a request before it is sent. The session calls it for each attempt, with a newly built request.
public protocol RequestAdapter: Sendable {
    /// Changes the request. An error that it throws fails the attempt with the stage `adapting`.
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
    /// The time until the total timeout or the attempt's timeout passes, whichever is sooner; nil if there is none.
    ///
    /// It is measured when the session calls the adapter.
    public internal(set) var timeLeft: Duration?
    let core: RequestCore
}

/// Decides whether a failed request is retried.
///
/// The failure may come from building, adapting, sending, validating or serializing. Retriers are not asked about a
/// cancelled request. Only the retrier's answer limits the number of attempts: check ``Request/retryCount``.
public protocol RequestRetrier: Sendable {
    /// Returns whether the request is retried, and after which delay.
    func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult
}

/// A retrier's decision. The first decision other than ``doNotRetry`` counts.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RetryResult: Sendable {
    /// Retries the request at once.
    case retry
    /// Retries the request after this delay, measured by the session's clock.
    case retryAfter(Duration)
    /// Asks the next retrier. If no retrier wants another attempt, the error stands.
    case doNotRetry
    /// Fails the request with ``RetryFailed``, which has the given error and the original one.
    ///
    /// If the given error is a ``RetryRefusal``, the original error stands, and its ``RequestError/retryRefusal`` has
    /// the reason.
    case doNotRetryWithError(any Error)

    /// Returns a retry after a random delay in the range, so that clients do not all retry at the same moment.
    ///
    /// The delay comes from the session's random source.
    public static func retryAfter(within delays: ClosedRange<Duration>, for session: Session) -> RetryResult {
        let span = delays.upperBound - delays.lowerBound
        return .retryAfter(delays.lowerBound + span * session.configuration.random.fraction())
    }
}

/// Adapts requests and decides about retries. Both methods have defaults that do nothing.
///
/// Because of the defaults, a method with a wrong signature, such as Alamofire's with a completion handler, compiles
/// but is never called. A type that only adapts or only retries should conform to ``RequestAdapter`` or
/// ``RequestRetrier``: these protocols have no default methods, so the compiler finds the mistake.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {}

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        .doNotRetry
    }
}

/// The reason why a retrier refuses another attempt. No other retrier is asked.
///
///     return .doNotRetryWithError(RetryRefusal("the circuit is open"))
///
/// The request fails with its own error, whose ``RequestError/retryRefusal`` has the reason.
public struct RetryRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, in one line.
    public let reason: String

    /// Creates a refusal with a reason in one line.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { reason }
}

/// The underlying error of ``RequestError/Code/retryFailed``: the retrier's error and the original one.
public struct RetryFailed: Error, Sendable, CustomStringConvertible {
    /// The error that the retrier returned.
    public let retryError: any Error
    /// The failure that the retrier was asked about.
    public let originalError: RequestError

    public var description: String { "\(retryError); the request had failed with: \(originalError)" }
}
