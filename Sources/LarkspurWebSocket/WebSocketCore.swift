/// The receiver of a ``WebSocketRequest``: it opens the connection, receives and sends messages, and closes it.
///
/// The request's pipeline builds and sends the handshake as for any other request, and calls this object as the
/// receiver of the response's body. The body's bytes are frames of the server. The frames for the server are the
/// request's body, which the transport reads after the server has switched protocols (T26 in `Transport`). Another
/// connection after a lost one is another attempt of the request.
final class WebSocketCore: BodyReceiver {
    // Immutable
    let options: WebSocketOptions
    let protocols: [String]
    /// A flag that is raised when the request is cancelled. Readers check the flag before each message.
    let isCut = AtomicFlag()

    // Mutable state, each part guarded by the lock of `Protected`
    let link: Protected<WebSocketLink>
    let readers: Protected<WebSocketReaders>
    let parser: Protected<Parser>
    /// The encoder of messages that are encoded without the lock of `link`: large and compressed ones. One sender at a
    /// time uses it, marked by `isEncoding`.
    let encoder = Protected(WebSocketWriter(role: .client, deflate: nil))
    private let states = Protected(VisibleState())
    private let owner = Protected(Owner())

    /// The parser of the connection's bytes. Only the thread that delivers the bytes uses it.
    struct Parser {
        var reader: WebSocketReader?
        /// The peer's violation of the protocol, after which nothing is parsed.
        var violation: WebSocketViolation?
        /// The number of bytes of the current chunk that are parsed already.
        var offset = 0
        /// The number of parsed bytes since the opening.
        var received: UInt64 = 0
        /// Whether a message, a ping or a pong was received since the opening.
        var hasReceived = false
    }

    private struct Owner { weak var core: RequestCore? }

    init(_ options: WebSocketOptions, protocols: [String]) {
        self.options = options
        self.protocols = protocols
        link = Protected(WebSocketLink(sendLimit: options.sendBufferSize))
        readers = Protected(WebSocketReaders(limit: options.receiveBufferSize))
        parser = Protected(Parser())
    }

    func attach(_ core: RequestCore) { owner.withLock { $0.core = core } }

    /// The request's core, which owns this object; nil when the request is released.
    var core: RequestCore? { owner.withLock { $0.core } }

    var agreement: WebSocketAgreement? { link.withLock { $0.connection.agreement } }

    func emit(_ event: @autoclosure () -> WebSocketEvent) { core?.emit(.webSocket(event())) }

    var clock: any Clock<Duration> { core?.context.configuration.clock ?? ContinuousClock() }

    // MARK: The handshake

    /// The bytes of the connection that the transport holds before this object takes them.
    var capacity: UInt64 { 256 * 1_024 }

    var canBeginAgain: Bool { true }

    func prepare(_ request: OutgoingRequest, for url: RequestURL) async throws -> OutgoingRequest {
        guard request.method == .get, request.body.length == 0 else {
            throw RequestError(.invalidRequest, "a WebSocket's handshake is a GET without a body")
        }
        for name in protocols where !name.utf8.allSatisfy(OutgoingRequest.isTokenByte) || name.isEmpty {
            throw RequestError(.invalidRequest, "\(name.debugDescription) is not a name of a WebSocket protocol")
        }
        var request = request
        let key = WebSocketHandshake.makeKey()
        let number = link.withLock { link in
            link.beginAttempt(key: key)
            return link.attempt
        }
        for field in WebSocketHandshake.fields(key: key, protocols: protocols, compression: options.compression) {
            request.headers.update(field)
        }
        request.options.httpVersion = .http1
        request.options.upgrade = upgrade(attempt: number)
        tell(.connecting)
        return request
    }

    /// Returns the change to the WebSocket protocol, with the bytes that this attempt sends.
    private func upgrade(attempt: UInt64) -> ProtocolUpgrade {
        ProtocolUpgrade(httpURL: \.forHandshake) { [self] request in
            request.upgrades = true
            request.body = .stream(
                TransportBodySource(length: nil, isReplayable: true) { [self] in
                    WebSocketStream(self, attempt: attempt)
                })
            request.translator = { [self] in
                let key = link.withLock { $0.connection.key }
                return WebSocketTranslator(key: key, maximumMessageSize: options.maximumMessageSize)
            }
        }
    }

    /// Checks the response to the handshake, as the first validator of the request. An error that the server explains
    /// in a body so gets that body.
    func check(_ exchange: CompletedExchange) throws {
        guard let head = exchange.head else { return }
        let key = link.withLock { $0.connection.key }
        guard head.status == 101 else {
            let status = StatusText.described(head.status)
            throw RequestError(
                .unacceptableStatus,
                head.status < 400
                    ? "the server answered the WebSocket handshake with status \(status) instead of 101; "
                        + "the URL is probably not that of a WebSocket"
                    : "the server refused the WebSocket with status \(status)")
        }
        do throws(WebSocketRefusal) {
            let agreement = try WebSocketHandshake.check(
                head, key: key, protocols: protocols, compression: options.compression)
            link.withLock { $0.connection.agreement = agreement }
        } catch {
            throw RequestError(.webSocketHandshakeFailed, "the WebSocket handshake failed: \(error.reason)")
        }
    }

    // MARK: The connection

    func begin(_ exchange: CompletedExchange) async throws {
        guard let head = exchange.head else { return }
        core?.retireDeadlines()
        let age = clock.stopwatch()
        let (agreement, number) = link.withLock { link in
            link.open(head, age: age)
            return (link.connection.agreement, link.openings)
        }
        let limit = options.maximumMessageSize
        parser.withLock {
            $0 = Parser(
                reader: WebSocketReader(role: .client, maximumMessageSize: limit, deflate: agreement?.deflate))
        }
        encoder.withLock { $0 = WebSocketWriter(role: .client, deflate: agreement?.deflate) }
        readers.withLock { $0.beginAgain() }
        emit(.open(protocol: agreement?.protocol, isCompressed: agreement?.deflate != nil))
        guard try await greet(head, agreement, number) else { return }
        try sendWaiting()
        let waiters = link.withLock { link in
            defer { link.opened = [] }
            return link.opened
        }
        tell(.open)
        for waiter in waiters { waiter.continuation.resume(returning: .success(head)) }
        schedulePing()
    }

    /// Messages are decompressed in the request's task, because that takes long.
    func consumer(of body: ByteChannel) -> ByteChannel.Consumer? {
        guard agreement?.deflate == nil else { return nil }
        return { [self] bytes in consume(bytes) { body.deliver() } }
    }

    func receive(_ bytes: Data) async {
        while true {
            let isTaken = await suspended { (continuation: Continuation<Bool>) in
                if consume(bytes, orLater: { continuation.resume(returning: false) }) {
                    continuation.resume(returning: true)
                }
            }
            if isTaken { return }
        }
    }

    /// Handles the end of the connection's bytes. Throws the reason, unless the connection was closed.
    func finish(
        _ exchange: CompletedExchange, _ error: (any Error)?, telling tell: @Sendable (RequestEvent) -> Void
    ) throws {
        let keeps = options.reconnection?.keptBytes
        // A connection that has received something, or has lasted, ends the count of failures. A server that accepts
        // connections only to close them thus meets growing delays.
        let age = link.withLock { $0.connection.opening?.age }
        let isUseful = age.map { $0() >= options.reconnection?.backoff.cap ?? .zero } ?? false
        let (outcome, dropped, timers) = link.withLock { link -> (Result<Void, any Error>, Int, [DeadlineTimer?]) in
            guard link.ending == nil else { return (.success(()), 0, []) }  // the request was cancelled
            if isUseful || link.connection.hasReceived { link.failures = 0 }
            let outcome = link.outcome(error, reconnectingAfter: options.reconnection?.closeCodes ?? [])
            guard case .failure = outcome, let keeps, link.ownClose == nil else {
                link.phase = .closing  // no further message is accepted
                return (outcome, 0, link.takeTimers())
            }
            let dropped = link.settleUnsent(keeping: keeps)
            if dropped > 0 { link.loss = Self.loss(dropped) }
            link.phase = .connecting
            return (outcome, dropped, link.takeTimers())
        }
        for timer in timers { timer?.cancel() }
        endPings(RequestError(.connectionLost, "the connection ended before the pong"))
        resumeSender()
        if dropped > 0 { emit(.dropMessages(dropped)) }
        try outcome.get()
    }

    private static func loss(_ count: Int) -> RequestError {
        RequestError(
            .messagesNotSent,
            "the connection was lost before \(count == 1 ? "a message was" : "\(count) messages were") sent; "
                + "this message was not sent either")
    }

    // MARK: The end

    /// Returns the retriers of a failed attempt. Only the rules for reconnection decide about a lost connection. About
    /// a failed handshake, the session's and the request's retriers decide first.
    func retriers(among interceptors: [any RequestInterceptor]) -> [any RequestInterceptor] {
        let (isOver, wasOpen) = link.withLock { ($0.ownClose != nil, $0.connection.opening != nil) }
        if isOver { return [] }
        let own = options.reconnection.map { [WebSocketReconnector(self, $0)] } ?? []
        return (wasOpen ? [] : interceptors) + own
    }

    func result(_ exchange: CompletedExchange) async -> CompletedExchange {
        let (isClosed, close) = link.withLock { link in
            (link.ownClose != nil || link.connection.peerClose != nil && link.connection.failure == nil, link.close)
        }
        emit(.close(close))
        return isClosed ? exchange.succeeded() : exchange
    }

    func stopDelivering() {
        let isClosed = link.withLock { $0.ownClose != nil }
        let (waiting, resume) = readers.withLock { readers in
            let resume = readers.discard()
            return (readers.end(isClosed ? nil : .requestCancelled), resume)
        }
        isCut.raise()
        leaveHook()
        for waiter in waiting { waiter.resume(returning: isClosed ? .success([]) : .failure(CancellationError())) }
        resume?()
    }

    func end(_ error: RequestError?) {
        let (rest, timers, dropped) = link.withLock { link -> (Rest, [DeadlineTimer?], Int) in
            let close = link.end(error)
            let rest = Rest(
                close: close, senders: link.takeSenders(), opened: link.opened, closed: link.closed,
                wake: link.takeWake())
            (link.opened, link.closed) = ([], [])
            return (rest, link.takeTimers(), link.settleUnsent(keeping: 0))
        }
        for timer in timers { timer?.cancel() }
        if dropped > 0 { emit(.dropMessages(dropped)) }
        let reason = error ?? RequestError(.webSocketClosed, "the WebSocket was closed")
        endPings(reason)
        for reader in readers.withLock({ $0.end(error) }) {
            reader.resume(returning: error.map { .failure($0) } ?? .success([]))
        }
        for sender in rest.senders { sender.continuation.resume(returning: .success(())) }
        for waiter in rest.opened { waiter.continuation.resume(returning: .failure(reason)) }
        for waiter in rest.closed { waiter.continuation.resume(returning: rest.close) }
        rest.wake?()
        tell(.closed(rest.close))
    }

    /// The parties that wait when the request ends.
    private struct Rest: Sendable {
        let close: WebSocketClose
        let senders: [WebSocketLink.Sender]
        let opened: [(number: UInt64, continuation: WebSocketLink.Opened)]
        let closed: [(number: UInt64, continuation: Continuation<WebSocketClose>)]
        let wake: WebSocketLink.Wake?
    }

    // MARK: Waiting for the opening and the end

    nonisolated(nonsending) func opened() async throws -> ResponseHead {
        let number = link.withLock { $0.nextNumber() }
        return try await suspended { (continuation: WebSocketLink.Opened) in
            let answer = link.withLock { link -> Result<ResponseHead, any Error>? in
                if let ending = link.ending { return .failure(ending.error ?? Self.closed) }
                if link.phase != .connecting, link.phase != .greeting, let opening = link.connection.opening {
                    return .success(opening.head)
                }
                link.opened.append((number, continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        } onCancel: {
            let waiter = link.withLock { link -> WebSocketLink.Opened? in
                guard let index = link.opened.firstIndex(where: { $0.number == number }) else { return nil }
                return link.opened.remove(at: index).continuation
            }
            waiter?.resume(returning: .failure(CancellationError()))
        }.get()
    }

    static let closed = RequestError(.webSocketClosed, "the WebSocket was closed before it was open")

    nonisolated(nonsending) func closed() async -> WebSocketClose {
        let resume = readers.withLock { $0.awaitEnd() }
        resume?()
        let number = link.withLock { $0.nextNumber() }
        return await suspended { (continuation: Continuation<WebSocketClose>) in
            let final = link.withLock { link in
                if link.ending == nil { link.closed.append((number, continuation)) }
                return link.ending?.close
            }
            if let final { continuation.resume(returning: final) }
        } onCancel: {
            let (waiter, close) = link.withLock { link -> (Continuation<WebSocketClose>?, WebSocketClose) in
                let index = link.closed.firstIndex { $0.number == number }
                return (index.map { link.closed.remove(at: $0).continuation }, link.close)
            }
            waiter?.resume(returning: close)
        }
    }

    // MARK: States

    var state: WebSocketState { states.withLock { $0.last } }

    func follow() -> AsyncStream<WebSocketState> {
        let (follower, stream) = Follower<WebSocketState>.make(.bufferingNewest(64))
        states.withLock { $0.changes.add(follower, first: $0.last) }
        states.deliver(\.changes)
        return stream
    }

    func tell(_ state: WebSocketState) {
        let ended = states.withLock { $0.change(to: state) }
        states.deliver(\.changes)
        withExtendedLifetime(ended) {}
    }
}

/// The state of a WebSocket that users see.
private struct VisibleState {
    private(set) var last = WebSocketState.connecting
    var changes = Broadcast<WebSocketState>()

    /// Returns the followers that the caller releases after unlocking.
    mutating func change(to state: WebSocketState) -> [Follower<WebSocketState>] {
        if case .closed = last { return [] }
        guard state != last else { return [] }
        last = state
        changes.send(state)
        if case .closed = state { return changes.end() }
        return []
    }
}
