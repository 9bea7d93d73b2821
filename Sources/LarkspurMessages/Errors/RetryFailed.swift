/// The underlying error of ``RequestError/Code/retryFailed``. It contains the retrier's error and the original error.
public struct RetryFailed: Error, Sendable, CustomStringConvertible {
    /// The error that the retrier returned.
    public let retryError: any Error
    /// The error of the request, about which the retrier was asked.
    public let originalError: RequestError

    public var description: String { "\(retryError); the request had failed with: \(originalError)" }
}
