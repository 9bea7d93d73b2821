import Larkspur

/// A retrier that allows one retry.
struct RetryOnce: RequestRetrier {
    func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        request.retryCount == 0 ? .retry : .doNotRetry
    }
}
