/// The transport of sessions that were given none.
enum DefaultTransport {
    static func make() -> any Transport {
        #if os(Linux)
            CurlTransport()
        #else
            UnavailableTransport()
        #endif
    }
}

/// Fails every task, saying why: for platforms without an engine.
final class UnavailableTransport: Transport {
    private let isInvalidated = Protected(false)

    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        Task(id: id, delegate: delegate, transport: self)
    }

    func invalidate() { isInvalidated.withLock { $0 = true } }

    private var error: TransportError {
        if isInvalidated.withLock({ $0 }) { return TransportError(.invalidated) }
        return TransportError(
            .unavailable,
            "no transport for this platform is built in yet: give the session one, Session(transport:); in tests, StubTransport"
        )
    }

    private final class Task: TransportTask {
        let id: TransportTaskID
        private let transport: UnavailableTransport
        /// Given up when the end is delivered: whoever takes it delivers.
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
