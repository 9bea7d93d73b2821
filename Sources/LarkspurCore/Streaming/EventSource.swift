/// The shared state of an event stream. The stream's reader and connections change it, and the followers observe it.
final class EventSource: Sendable {
    struct State {
        var reconnection: ServerSentEventsReconnection
        var reconnectHandler: (@Sendable (ServerSentEventsInterruption) -> Void)?
        /// The settings of the first request, for later requests; nil before the first one is sent.
        var settings: RequestSettings?
        var request: DataStreamRequest
        /// Whether the next connection follows a failure.
        var isRetry = false
        var isClaimed = false
        /// The changes of the stream's state. Not every change of `reconnection` is one.
        fileprivate var changes = Broadcast<ServerSentEventsState>()
    }

    static let alreadyIterated = RequestError(
        .alreadyIterated,
        "a stream of events can be iterated only once; make another request to get another stream")

    /// The error of a request that was already started. The stream can then no longer add its header fields and
    /// validators to the request.
    private static let alreadyStarted = RequestError(
        .alreadyStarted,
        "the request was started before its events were read; do not start it, because the stream does that")

    // Immutable
    let clock: any Clock<Duration>
    let random: RandomSource
    private let context: SessionContext
    /// The session. The stream keeps the session alive while it may connect again, because between two connections no
    /// request does so.
    private let session: Session?

    // Mutable state, guarded by the lock of `Protected`
    let box: Protected<State>

    init(
        _ request: DataStreamRequest, _ policy: ServerSentEventsPolicy, _ lastEventID: String, _ maximumEventSize: Int
    ) {
        let core = request.handle.core
        context = core.context
        clock = context.configuration.clock
        random = context.configuration.random
        session = core.read { $0.session } ?? context.session
        box = Protected(
            State(
                reconnection: ServerSentEventsReconnection(
                    policy: policy, lastEventID: lastEventID, maximumEventSize: maximumEventSize), request: request))
    }

    func claim() -> Bool { box.withLock { $0.isClaimed.setOnce() } }

    // MARK: The reconnection

    var state: ServerSentEventsState { box.withLock { $0.reconnection.state } }

    var parser: ServerSentEventParser { box.withLock { $0.reconnection.parser } }

    /// Passes an event to the reconnection, and notifies the followers if the stream's state has changed. Returns the
    /// next action.
    func handle(_ event: ServerSentEventsReconnection.Event) -> ServerSentEventsReconnection.Action {
        let (action, ended) = box.withLock {
            state -> (ServerSentEventsReconnection.Action, [Follower<ServerSentEventsState>]) in
            let before = state.reconnection.state
            let action = state.reconnection.handle(event)
            if !before.isSameKind(as: state.reconnection.state) { state.changes.send(state.reconnection.state) }
            guard case .closed(let error) = state.reconnection.state else { return (action, []) }
            let isFinish = if case .none = action { true } else { false }
            return (isFinish ? .finish(error) : action, state.changes.end())
        }
        box.deliver(\.changes)
        withExtendedLifetime(ended) {}
        return action
    }

    /// Handles the end of a connection. `parser` has read the connection's body. Ends the stream if the request's body
    /// cannot be sent again.
    func lose(_ parser: ServerSentEventParser, _ error: RequestError?) -> ServerSentEventsReconnection.Action {
        let request = box.withLock { state in
            state.reconnection.parser = parser
            return state.request
        }
        let action = handle(.ended(error))
        guard case .wait = action else { return action }
        guard request.handle.core.canSendAgain else { return handle(.refused(Self.ended(error).withoutBodyToRetry())) }
        box.withLock { $0.isRetry = $0.reconnection.isRetry(after: error) }
        return action
    }

    /// Handles the end of the pause after a lost connection. If the session's retry budget is used up, a longer pause
    /// begins.
    func didWait(after error: RequestError?) -> ServerSentEventsReconnection.Action {
        guard box.withLock({ $0.isRetry }), let refusal = context.withdrawRetry() else { return handle(.waited) }
        return handle(.postponed(Self.ended(error).refusingRetry(refusal.reason)))
    }

    private static func ended(_ error: RequestError?) -> RequestError {
        error ?? RequestError(.connectionLost, "the server ended the event stream")
    }

    // MARK: Connections

    /// Opens a connection with these header fields. The first connection uses the user's request itself, and each later
    /// connection uses a copy of that request.
    func connect(_ fields: HTTPHeaders) async throws(RequestError) -> EventConnection {
        let (last, settings, policy) = box.withLock { ($0.request, $0.settings, $0.reconnection.policy) }
        var request = last
        if let settings, let session { request = await session.streamRequest(like: last, settings) }
        let core = request.handle.core
        guard core.read({ $0.phase == .idle }) else { throw Self.alreadyStarted }
        let idleTimer = policy.idleTimeout.map { IdleTimer($0, on: clock) }
        let current = core.read { $0.settings }
        core.depositForRetries(isRetry: box.withLock { $0.isRetry })
        box.withLock { [request] state in
            if state.settings == nil {
                state.settings = current
                state.settings?.followers = RequestFollowers()
            }
            state.request = request
        }
        let limits = context.configuration.options.timeouts
        core.set("event stream") { [defaults = context.headers.fields] in
            $0.interceptors.append(Self.adapter(fields, defaults, session: limits, request: $0.timeouts))
            $0.validators.append(validator { [weak request] in request.map { idleTimer?.start(for: $0) } })
        }
        return EventConnection(request, idleTimer)
    }

    /// Returns an adapter for the stream's header fields and timeouts. The adapter sets each field that is missing or
    /// has the session's default value, and always sets `Last-Event-ID`. An event stream is long-lived, so the adapter
    /// removes the idle timeout if it is the library's default. It removes the session's total and attempt timeouts
    /// unless the request sets its own.
    private static func adapter(
        _ fields: HTTPHeaders, _ defaults: HTTPHeaders, session limits: RequestTimeouts,
        request own: [RequestTimeouts.Limit]
    ) -> Interceptor {
        Interceptor(adapt: { request, _ in
            for field in fields {
                let value = request.headers[field.name]
                if value == nil || value == defaults[field.name] || field.name == "Last-Event-ID" {
                    request.headers.update(field)
                }
            }
            let standard = RequestTimeouts()
            var (timeouts, set) = (request.options.timeouts, standard)
            for limit in own { limit.apply(to: &set) }
            if timeouts.idle == standard.idle { timeouts.idle = nil }
            if timeouts.total == limits.total, set.total == nil { timeouts.total = nil }
            if timeouts.attempt == limits.attempt, set.attempt == nil { timeouts.attempt = nil }
            request.options.timeouts = timeouts
        })
    }

    /// Returns a validator that rejects responses that are not event streams. The validator runs before the stream
    /// reads the body. So the server's error body is still unread, and its text can become part of the error.
    private func validator(_ didOpen: @escaping @Sendable () -> Void) -> ResponseValidator {
        ResponseValidator { [weak self] exchange in
            guard let head = exchange.head else { return }
            if let refusal = ServerSentEventsReconnection.refusal(of: head) { throw refusal }
            if case .read? = self?.handle(.responded(head)) { didOpen() }
        }
    }

    // MARK: Followers

    func follow() -> AsyncStream<ServerSentEventsState> {
        let (follower, stream) = Follower<ServerSentEventsState>.make(.bufferingNewest(1))
        box.withLock { $0.changes.add(follower, first: $0.reconnection.state) }
        box.deliver(\.changes)
        return stream
    }
}

extension ServerSentEventsState {
    fileprivate func isSameKind(as other: ServerSentEventsState) -> Bool {
        switch (self, other) {
        case (.connecting, .connecting), (.open, .open), (.closed, .closed): true
        case (.connecting, _), (.open, _), (.closed, _): false
        }
    }
}
