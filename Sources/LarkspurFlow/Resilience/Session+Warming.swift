extension Session {
    /// Opens a connection to an origin, so that the next request to it need not wait for one.
    ///
    ///     try await session.warm("https://api.example.com")
    ///
    /// The connection is that of a request: with the session's proxies, trust evaluators and client identities. No
    /// request is sent, and no monitor is told. If the transport already has an idle connection to the origin, it opens
    /// no other one. The server or the transport may close the connection again, for example after the idle lifetime of
    /// the transport.
    ///
    /// Before 7.79 and after 8.1, libcurl does not reuse an HTTP/1.1 connection on which a TLS session ticket has
    /// arrived meanwhile. With these versions, only HTTP/2 and plain HTTP benefit.
    ///
    /// - Parameter origin: A URL of the origin, relative to the session's `baseURL`. Its path is ignored.
    /// - Throws: `RequestError` with the code `.transportUnavailable` if the session's transport opens no connections
    ///   ahead of requests, as `URLSessionTransport`; otherwise the error of the connection, such as `.untrusted`.
    public nonisolated func warm(_ origin: any URLConvertible) async throws(RequestError) {
        let request = OutgoingRequest(url: try absoluteURL(of: origin))
        let probe = await self.request(request.url, startsAutomatically: false)
        var inquiries: [any HopInquiry] = []
        while true {
            let hop = try probe.handle.core.warmingRequest(request)
            let warming = WarmingDelegate(advisor: context.advisor)
            let task = context.transport.warmingTask(for: hop, id: TransportTaskID(0), delegate: warming)
            guard let task else {
                throw RequestError(
                    .transportUnavailable, "the session's transport opens no connections ahead of requests")
            }
            guard let error = await warming.end(of: task) else { return }
            guard let inquiry = warming.inquiry, error.phase == .securing else {
                throw RequestError(wrapping: error, as: .connectionLost, stage: .sending, about: request)
            }
            var refusal = inquiry.refusal(after: inquiries)
            inquiries.append(inquiry)
            if refusal == nil { refusal = await inquiry.settle() }
            if let refusal { throw RequestError(wrapping: refusal, as: .untrusted, stage: .sending, about: request) }
        }
    }
}

/// The receiver of the events of a connection that is opened ahead of requests.
private final class WarmingDelegate: TransportDelegate {
    private struct State {
        var waiter: Continuation<TransportError?>?
        var end: TransportError??
        var inquiry: (any HopInquiry)?
    }

    private let advisor: (any TransportAdvisor)?
    private let box = Protected(State())

    init(advisor: (any TransportAdvisor)?) { self.advisor = advisor }

    /// The work that is needed before the connection can be opened; nil if there is none.
    var inquiry: (any HopInquiry)? { box.withLock { $0.inquiry } }

    /// Starts the task and waits for its end. Returns its error.
    func end(of task: any TransportTask) async -> TransportError? {
        await suspended { (waiter: Continuation<TransportError?>) in
            let end = box.withLock { state -> TransportError?? in
                if state.end == nil { state.waiter = waiter }
                return state.end
            }
            // A cancel may have ended the task before its start.
            if let end { waiter.resume(returning: end) } else { task.resume() }
        } onCancel: {
            task.cancel()
        }
    }

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        guard case .completed(let error) = event else { return }
        let waiter = box.withLock { state in
            state.end = .some(error)
            return state.waiter.take()
        }
        waiter?.resume(returning: error)
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        switch advisor?.answer(question) ?? .none {
        case .given: break
        case .inquires(let inquiry):
            _ = box.withLock { state in
                defer { state.inquiry = inquiry }
                return state.inquiry
            }
        case .none: if case .serverTrust(_, let reply) = question { reply(.platformDefault) }
        }
    }
}
