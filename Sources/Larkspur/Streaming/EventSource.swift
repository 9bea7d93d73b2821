/// An event stream's state, which its reader, its connections and those who follow it share.
final class EventSource: Sendable {
    struct State {
        var reconnection: ServerSentEventsReconnection
        var reconnectHandler: (@Sendable (ServerSentEventsInterruption) -> Void)?
        /// What makes the later requests like the first one, taken when that is sent.
        var settings: RequestSettings?
        var request: DataStreamRequest
        /// Whether the next connection follows a failure.
        var isRetry = false
        var isClaimed = false
        // Who follows the state
        var changes = 0
        fileprivate var followers: [(follower: Follower, told: Int)] = []
        var isTelling = false

        /// Whom to tell of the state; nil if nobody has to be, or somebody else is telling it.
        fileprivate mutating func news() -> (ServerSentEventsState, [Follower])? {
            let late = followers.indices.filter { followers[$0].told < changes }
            guard !isTelling, !late.isEmpty else { return nil }
            let news = late.map { followers[$0].follower }
            for index in late { followers[index].told = changes }
            if case .closed = reconnection.state { followers = [] }
            isTelling = true
            return (reconnection.state, news)
        }
    }

    fileprivate typealias Follower = RequestFollower<ServerSentEventsState>

    static let alreadyIterated = RequestError(
        .alreadyIterated,
        "a stream of events is iterated once; have the session make another request for another stream")

    /// Its fields and its validator would come too late.
    private static let alreadyStarted = RequestError(
        .alreadyStarted,
        "the request was started before its events were read; leave it to the stream, which starts it")

    // Immutable
    let clock: any Clock<Duration>
    let random: RandomSource
    private let context: SessionContext
    /// Held while the stream may be connected again: no request of it may be under way.
    private let session: Session?

    // Guarded by the box
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

    func claim() -> Bool { box.withLock { $0.isClaimed.raise() } }

    // MARK: The reconnection

    var state: ServerSentEventsState { box.withLock { $0.reconnection.state } }

    var parser: ServerSentEventParser { box.withLock { $0.reconnection.parser } }

    /// Tells the reconnection what happened, and its followers what came of it; gives what is to be done.
    func handle(_ event: ServerSentEventsReconnection.Event) -> ServerSentEventsReconnection.Action {
        let action = box.withLock { state -> ServerSentEventsReconnection.Action in
            let before = state.reconnection.state
            let action = state.reconnection.handle(event)
            if !before.isSameKind(as: state.reconnection.state) { state.changes += 1 }
            if case .none = action, case .closed(let error) = state.reconnection.state { return .finish(error) }
            return action
        }
        tell()
        return action
    }

    /// A connection is over, which the parser has read. There is another one only if the body can be sent again.
    func lose(_ parser: ServerSentEventParser, _ error: RequestError?) -> ServerSentEventsReconnection.Action {
        let request = box.withLock { state in
            state.reconnection.parser = parser
            return state.request
        }
        let action = handle(.ended(error))
        guard case .wait = action else { return action }
        let ended = error ?? RequestError(.connectionLost, "the server ended the event stream")
        guard request.handle.core.canSendAgain else { return handle(.refused(ended.withoutBodyToRetry())) }
        let isRetry = box.withLock { state in
            state.isRetry = state.reconnection.isRetry(after: error)
            return state.isRetry
        }
        guard isRetry, let refusal = context.withdrawRetry() else { return action }
        return handle(.refused(ended.refusingRetry(refusal.reason)))
    }

    // MARK: Connections

    /// Connects with these fields: by the request itself, and later by others like it.
    func connect(_ fields: HTTPHeaders) async throws(RequestError) -> EventConnection {
        let (last, settings, policy) = box.withLock { ($0.request, $0.settings, $0.reconnection.policy) }
        var request = last
        if let settings, let session { request = await session.streamRequest(like: last, settings) }
        let core = request.handle.core
        guard core.read({ $0.phase == .idle }) else { throw Self.alreadyStarted }
        let watch = policy.idleTimeout.map { SilenceWatch($0, on: clock) }
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
        core.set("event stream") { [defaults = context.configuration.headers] in
            $0.interceptors.append(Self.adapter(fields, defaults, session: limits, request: $0.timeouts))
            $0.validators.append(validator { [weak request] in request.map { watch?.start(for: $0) } })
        }
        return EventConnection(request, watch)
    }

    /// Adds the fields to a request that has none of its own; those of its session are for all requests, and give way. So do
    /// the session's limits of time: an event stream is to last.
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

    /// Refuses what is no event stream before a byte of it is read, so that the error has the server's words.
    private func validator(_ didOpen: @escaping @Sendable () -> Void) -> ResponseValidator {
        ResponseValidator { [weak self] exchange in
            guard let head = exchange.head else { return }
            if let refusal = ServerSentEventsReconnection.refusal(of: head) { throw refusal }
            if case .read? = self?.handle(.responded(head)) { didOpen() }
        }
    }

    // MARK: Followers

    func follow() -> AsyncStream<ServerSentEventsState> {
        let (follower, stream) = Follower.make(.bufferingNewest(1))
        box.withLock { $0.followers.append((follower, -1)) }
        tell()
        return stream
    }

    /// One tells at a time, so that the last that everybody hears is the latest.
    private func tell() {
        while let (state, followers) = box.withLock({ $0.news() }) {
            let gone = followers.filter { !$0.tell(state) }
            _ = box.withLock { state in
                state.isTelling = false
                state.followers.removeAll { entry in gone.contains { $0 === entry.follower } }
                return gone  // to be let go of after unlocking
            }
        }
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
