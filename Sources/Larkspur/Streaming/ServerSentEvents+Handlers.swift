/// Why a connection of an event stream ended, and when the stream connects again.
public struct ServerSentEventsInterruption: Sendable {
    /// Why the connection failed; nil if the server ended the body as it may.
    public let error: RequestError?
    /// The pause before the next connection, with its jitter.
    public let delay: Duration
    /// The `Last-Event-ID` of the next connection; empty if the stream has none.
    public let lastEventID: String
}

extension ServerSentEvents {
    /// Calls the closure with each comment of the stream: a line that begins with a colon, without the colon and one space after it.
    ///
    ///     let events = await session.streamRequest(url).serverSentEvents().onComment { print("alive:", $0) }
    ///
    /// Servers send comments to keep a connection alive. The loop's task calls the closure, before the event that follows the
    /// comment. Set it before the loop begins; a later closure has no effect.
    @discardableResult
    public func onComment(_ handler: @escaping @Sendable (String) -> Void) -> Self {
        source.setCommentHandler(handler)
        return self
    }

    /// Calls the closure each time that a connection has ended and the stream is going to connect again, before the pause.
    ///
    ///     events.onReconnect { print("again in \($0.delay), after \($0.error?.description ?? "the server's end")") }
    ///
    /// The loop's task calls the closure. Set it before the loop begins; a later closure replaces it. What ends the stream for good is
    /// thrown in the loop instead.
    @discardableResult
    public func onReconnect(_ handler: @escaping @Sendable (ServerSentEventsInterruption) -> Void) -> Self {
        source.setReconnectHandler(handler)
        return self
    }
}

extension EventSource {
    func setCommentHandler(_ handler: @escaping @Sendable (String) -> Void) {
        // The earlier closure ends after unlocking (R1).
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

    /// Tells the user why the last connection ended.
    func tellInterruption(_ error: RequestError?, delay: Duration) {
        let (handler, id) = box.withLock { ($0.reconnectHandler, $0.reconnection.parser.lastEventID) }
        handler?(ServerSentEventsInterruption(error: error, delay: delay, lastEventID: id))
    }
}
