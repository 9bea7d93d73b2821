/// The facts about a connection that has ended, if its event stream will connect again.
public struct ServerSentEventsInterruption: Sendable {
    /// The error of the connection; nil if the server ended the body normally.
    public let error: RequestError?
    /// The pause before the next connection, including the jitter of that pause.
    public let delay: Duration
    /// The last event ID, which the next connection sends as `Last-Event-ID`; empty if the stream has none.
    public let lastEventID: String
}

extension ServerSentEvents {
    /// Calls the closure with each comment of the stream: a line that begins with a colon, without the colon and one
    /// space after it.
    ///
    ///     let events = await session.streamRequest(url).serverSentEvents().onComment { print("alive:", $0) }
    ///
    /// Servers send comments to keep a connection alive. The task of the loop over the events calls the closure, before
    /// the event that follows the comment. Set the closure before the loop begins: a closure that is set later has no
    /// effect.
    @discardableResult
    public func onComment(_ handler: @escaping @Sendable (String) -> Void) -> Self {
        source.setCommentHandler(handler)
        return self
    }

    /// Calls the closure each time a connection has ended and the stream will connect again, before the pause.
    ///
    ///     events.onReconnect { print("again in \($0.delay), after \($0.error?.description ?? "the server's end")") }
    ///
    /// The task of the loop over the events calls the closure. Set the closure before the loop begins; another call
    /// replaces the closure. The closure is not called for an error that ends the stream: the loop throws that error.
    @discardableResult
    public func onReconnect(_ handler: @escaping @Sendable (ServerSentEventsInterruption) -> Void) -> Self {
        source.setReconnectHandler(handler)
        return self
    }
}

extension EventSource {
    func setCommentHandler(_ handler: @escaping @Sendable (String) -> Void) {
        // The replaced closure is released after unlocking, because its captures may run user code (rule R1 in
        // Concurrency.md).
        _ = box.withLock { state in
            defer { state.reconnection.parser.onComment = handler }
            return state.reconnection.parser.onComment
        }
    }

    func setReconnectHandler(_ handler: @escaping @Sendable (ServerSentEventsInterruption) -> Void) {
        _ = box.withLock { state in
            defer { state.reconnectHandler = handler }
            return state.reconnectHandler
        }
    }

    /// Calls the user's handler with the reason why the last connection ended.
    func tellInterruption(_ error: RequestError?, delay: Duration) {
        let (handler, id) = box.withLock { ($0.reconnectHandler, $0.reconnection.parser.lastEventID) }
        handler?(ServerSentEventsInterruption(error: error, delay: delay, lastEventID: id))
    }
}
