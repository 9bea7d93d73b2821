extension SessionContext {
    /// Returns the session's transport. If a participant has refused the hop, or the hop needs a capability that this
    /// transport does not have, returns a transport that only fails (T25, T26).
    func transport(for request: TransportRequest, refusedWith refusal: TransportError?) -> any Transport {
        if let refusal { return UnavailableTransport(refusal) }
        if request.asksForTrust, !transport.capabilities.contains(.asksForTrust) {
            return UnavailableTransport(
                "the session has a trust evaluator for this host, but its transport cannot ask for trust")
        }
        if request.upgrades, transport.capabilities.isDisjoint(with: [.upgrades, .webSockets]) {
            return UnavailableTransport("the session's transport does not support WebSockets")
        }
        return transport
    }
}

/// A transport that cannot send anything. Every task fails with the error that says why.
package final class UnavailableTransport: Transport {
    private let reason: TransportError
    private let isInvalidated = Protected(false)

    package init(_ message: String) { reason = TransportError(.unavailable, message) }

    init(_ reason: TransportError) { self.reason = reason }

    package func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        Task(id: id, delegate: delegate, transport: self)
    }

    package func invalidate() { isInvalidated.withLock { $0 = true } }

    private var error: TransportError {
        if isInvalidated.withLock({ $0 }) { return TransportError(.invalidated) }
        return reason
    }

    private final class Task: TransportTask {
        let id: TransportTaskID
        private let transport: UnavailableTransport
        /// Set to nil by the first thread that ends the task, so that the delegate receives the end only once.
        private let delegate: Protected<(any TransportDelegate)?>

        init(id: TransportTaskID, delegate: any TransportDelegate, transport: UnavailableTransport) {
            self.id = id
            self.transport = transport
            self.delegate = Protected(delegate)
        }

        func resume() { end(transport.error, metrics: TransportMetrics()) }
        func suspend() {}
        func allow(upTo position: UInt64) {}
        func cancel() { end(.cancelled, metrics: nil) }

        private func end(_ error: TransportError, metrics: TransportMetrics?) {
            let delegate = delegate.withLock { $0.take() }
            if let metrics { delegate?.received(.metrics(metrics), for: id) }
            delegate?.received(.completed(error), for: id)
        }
    }
}
