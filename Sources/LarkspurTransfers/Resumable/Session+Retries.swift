extension Session {
    /// Waits for the delay before a failed request of a transfer is sent again. A cancel of the task ends the wait.
    ///
    /// Throws the error if the schedule or the session's retry budget allows no retry.
    nonisolated func waitForRetry(
        number: Int, of schedule: RetrySchedule, after error: RequestError
    ) async throws(RequestError) {
        switch schedule.step(retry: number, after: error.responseHead) {
        case .stop: throw error
        case .refuse(let refusal): throw error.refusingRetry(refusal.reason)
        case .retry(let delays):
            if let refusal = context.withdrawRetry() { throw error.refusingRetry(refusal.reason) }
            let configuration = configuration
            try? await configuration.clock.sleep(for: configuration.random.duration(in: delays))
        }
    }
}

extension RetrySchedule {
    /// Returns the schedule of retries of a resumable transfer. The schedule applies to all HTTP methods, because the
    /// upload protocols make each request repeatable.
    static func transfer(_ limit: Int, _ maximumRetryAfter: Duration) -> RetrySchedule {
        RetrySchedule(
            limit: limit, backoff: RetryPolicy.Backoff(scale: .milliseconds(250), cap: .seconds(30)),
            maximumRetryAfter: maximumRetryAfter)
    }
}
