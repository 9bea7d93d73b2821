/// Changes a request before it is sent; asked on every attempt, over the freshly built request.
public protocol RequestAdapter: Sendable {
    /// Changes the request, for each attempt; what this throws fails the attempt with stage `adapting`.
    func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws
}

/// What an adapter may know of the request it adapts.
public struct RequestAdapterState: Sendable {
    /// Which request it is, the same for all its attempts.
    public let requestID: RequestID
    /// The session that the request was made by.
    public let session: Session
    /// Which attempt this is, from 1.
    public let attempt: Int
    /// How much time was left, when this adapter was asked, until the request's total timeout passes, or that of the
    /// attempt if that is sooner; nil without either.
    public internal(set) var timeLeft: Duration?
    let core: RequestCore
}

/// Decides what follows a failure: of building, adapting, sending, validating or serializing, never a cancel.
///
/// Nothing but its answer limits the number of attempts: look at `request.retryCount`.
public protocol RequestRetrier: Sendable {
    /// Says what follows the failure.
    func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult
}

/// A retrier's answer; the first other than `.doNotRetry` wins.
#if compiler(>=6.3)
    @nonexhaustive(warn)
#endif
public enum RetryResult: Sendable {
    /// At once.
    case retry
    /// After this delay, by the session's clock.
    case retryAfter(Duration)
    /// The next retrier is asked; if none wants another attempt, the error stands.
    case doNotRetry
    /// The request fails with `RetryFailed`: the given error, and the one it answers. With a `RetryRefusal` the error that
    /// it answers stands, and tells the reason.
    case doNotRetryWithError(any Error)

    /// A delay drawn evenly from the range with the session's random source, so that clients do not come back in step.
    public static func retryAfter(within delays: ClosedRange<Duration>, for session: Session) -> RetryResult {
        let span = delays.upperBound - delays.lowerBound
        return .retryAfter(delays.lowerBound + span * session.configuration.random.fraction())
    }
}

/// Both sides of a request's way: adapter and retrier. Each has a default that does nothing.
///
/// So a function whose signature is another one, as Alamofire's with a completion, compiles and is never called. What only
/// adapts or only retries should be a `RequestAdapter` or a `RequestRetrier`, which have no defaults.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {}

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        .doNotRetry
    }
}

/// Answered by a retrier that would have the request tried again but for this reason; no other retrier is asked then.
///
///     return .doNotRetryWithError(RetryRefusal("the circuit is open"))
///
/// The request's own error stands, and says so in its `retryRefusal`.
public struct RetryRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// One line for a person.
    public let reason: String

    /// An error that says in one line why there is no other attempt.
    public init(_ reason: String) { self.reason = reason }

    public var description: String { reason }
}

/// The underlying error of a `.retryFailed`: what the retrier said, and the failure it was asked about.
public struct RetryFailed: Error, Sendable, CustomStringConvertible {
    /// What the retrier answered with.
    public let retryError: any Error
    /// What it was asked about.
    public let originalError: RequestError

    public var description: String { "\(retryError), when asked about: \(originalError)" }
}
