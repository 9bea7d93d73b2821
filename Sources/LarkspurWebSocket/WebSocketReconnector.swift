/// The retrier that lets a ``WebSocketRequest`` connect again, by the rules of its options.
struct WebSocketReconnector: RequestInterceptor {
    private let socket: WebSocketCore
    private let rules: WebSocketReconnection

    init(_ socket: WebSocketCore, _ rules: WebSocketReconnection) {
        self.socket = socket
        self.rules = rules
    }

    func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {}

    func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        let (number, wasOpen, code) = socket.link.withLock {
            ($0.failures, $0.connection.opening != nil, $0.connection.peerClose?.code)
        }
        guard isTransient(error, wasOpen: wasOpen, code ?? .abnormal) else { return .doNotRetry }
        let schedule = RetrySchedule(
            limit: rules.limit, backoff: rules.backoff, maximumRetryAfter: rules.maximumRetryAfter,
            maximumName: "reconnection.maximumRetryAfter")
        switch schedule.step(retry: number, after: wasOpen ? nil : error.responseHead) {
        case .stop: return .doNotRetry
        case .refuse(let refusal): return .doNotRetryWithError(refusal)
        case .retry(let range):
            var delay = session.configuration.random.duration(in: range)
            // Without budget, the request waits as long as it ever does.
            if session.context.withdrawRetry() != nil { delay = max(delay, rules.backoff.cap) }
            let isOver = socket.link.withLock { link in
                link.failures += 1
                return link.ownClose != nil
            }
            if isOver { return .doNotRetry }
            socket.tell(.waiting(delay))
            return .retryAfter(delay)
        }
    }

    /// Returns whether another connection may succeed, and the rules allow it.
    ///
    /// - Parameter code: The code with which an open connection has ended; 1006 if it was lost.
    private func isTransient(_ error: RequestError, wasOpen: Bool, _ code: WebSocketCloseCode) -> Bool {
        if error.isConnectivity { return !wasOpen || rules.closeCodes.contains(code) }
        guard !wasOpen, error.code == .unacceptableStatus, let status = error.statusCode else { return false }
        return rules.statusCodes.contains(status)
    }
}
