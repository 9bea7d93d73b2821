/// An interceptor that knows for which statuses its retrier is meant.
package protocol StatusExpecting: RequestInterceptor {
    /// Whether the retrier acts on a response with this status, if a validator rejects it.
    func expects(_ status: Int) -> Bool
}

extension RetryPolicy: StatusExpecting {
    /// The statuses for which a retrier of the user is assumed to be meant: temporary errors and refused credentials.
    package static let expectedStatuses = passingStatuses.union([401])

    package func expects(_ status: Int) -> Bool { limit > 0 && statuses.contains(status) }
}

extension ConnectionLostRetryPolicy: StatusExpecting {
    package func expects(_ status: Int) -> Bool { false }
}

extension RequestCompressor: StatusExpecting {
    package func expects(_ status: Int) -> Bool { false }
}
