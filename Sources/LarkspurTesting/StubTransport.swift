import Larkspur

/// A transport without a network: a closure answers each request.
///
///     let session = Session(transport: StubTransport { _ in .json(#"{"name": "Ada"}"#) })
///
/// Everything above the transport works as in production. A thread that calls a member of a task, such as `resume()`,
/// also delivers the task's next events. After a `.wait` step, another thread delivers them.
public final class StubTransport: Transport {
    fileprivate let clock: any Clock<Duration>
    private let answer: @Sendable (TransportRequest) -> StubAnswer
    /// The tasks in flight; nil after the transport has ended. The key is the object's identity, because two sessions
    /// may use the same task ID.
    fileprivate let running = Protected<[ObjectIdentifier: StubTask]?>([:])

    /// Creates a transport that calls the closure for each answer and measures waits with the clock.
    public init(
        clock: any Clock<Duration> = ContinuousClock(), answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) {
        self.clock = clock
        self.answer = answer
    }

    /// The whole contract.
    public var capabilities: TransportCapabilities { .all }

    /// The partition of transports with default settings, so that a stub in a test finds the responses that a cache has
    /// stored for another one.
    public var partition: TransportPartition { .common }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        task(for: request, id: id, delegate: delegate, answer: answer)
    }

    /// Makes a task with an answer of its own.
    func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate,
        answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) -> any TransportTask {
        StubTask(id, request, self, delegate, answer)
    }

    public func invalidate() {
        let tasks = running.withLock { $0.take() } ?? [:]
        for task in tasks.values { task.update { $0.fail(TransportError(.invalidated)) } }
    }
}

/// A task of the stub. One thread at a time runs the task's steps. Other threads only change the state, which the
/// running thread reads before the next step.
private final class StubTask: TransportTask {
    let id: TransportTaskID
    private let request: TransportRequest
    private let transport: StubTransport
    private let answer: @Sendable (TransportRequest) -> StubAnswer
    private let box: Protected<StubState>

    init(
        _ id: TransportTaskID, _ request: TransportRequest, _ stub: StubTransport, _ delegate: any TransportDelegate,
        _ answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) {
        self.id = id
        self.answer = answer
        self.request = request
        transport = stub
        box = Protected(StubState(allowance: request.initialAllowance, delegate: delegate))
    }

    func resume() {
        guard box.withLock({ $0.begin() }) else { return update { $0.isSuspended = false } }
        let isOpen = transport.running.withLock { running in
            running?.updateValue(self, forKey: ObjectIdentifier(self))
            return running != nil
        }
        var steps = isOpen ? answer(request).steps : [.fail(TransportError(.invalidated))]
        let sent = isOpen ? request.body.length ?? 0 : 0
        let index = if case .peer = steps.first { 1 } else { 0 }
        if sent > 0 { steps.insert(.sent(sent), at: index) }
        update { $0.take(steps, isBodiless: request.method == "HEAD") }
    }

    func suspend() { update { $0.isSuspended = true } }
    func cancel() { update { $0.fail(TransportError(.cancelled)) } }
    func allow(upTo position: UInt64) { update { $0.allowance = max($0.allowance, position) } }

    /// Changes the state, and runs the task's steps unless another thread runs them already.
    func update(_ change: (inout StubState) -> Void) {
        let (runs, sleeper) = box.withLock { state in
            change(&state)
            return state.beginRunning()
        }
        sleeper?.cancel()
        while runs, let (step, delegate) = box.withLock({ $0.next() }) {
            switch step {
            case .head(let head): delegate.received(.head(head), for: id)
            case .information(let head): delegate.received(.information(head), for: id)
            case .body(let bytes): delegate.received(.body(bytes), for: id)
            case .trailers(let fields): delegate.received(.trailers(fields), for: id)
            case .sent(let count): delegate.received(.bodySent(count), for: id)
            case .metrics(let sent, let received):
                var metrics = TransportMetrics()
                metrics.requestBodyBytes = sent
                metrics.responseBodyBytes = received
                delegate.received(.metrics(metrics), for: id)
            case .rewind: askForBody(delegate)
            case .judge(let peer): judge(peer, delegate)
            case .upgrade(let socket, let handler): upgrade(socket, handler)
            case .read: readTunnel()
            case .sleep(let duration): return sleep(for: duration)  // the end of the sleep runs the next steps
            case .completed(let error):
                _ = transport.running.withLock { $0?.removeValue(forKey: ObjectIdentifier(self)) }
                endTunnel()
                delegate.received(.completed(error), for: id)
            }
        }
    }

    private func sleep(for duration: Duration) {
        let sleeper = Task {
            try? await transport.clock.sleep(for: duration)
            update { $0.wake() }
        }
        if !box.withLock({ $0.setSleeper(sleeper) }) { sleeper.cancel() }
    }

    private func judge(_ peer: PeerTrust, _ delegate: any TransportDelegate) {
        guard request.url.isHTTPS else { return }
        let reply = TransportReply<TrustDecision>()
        request.asksForTrust ? delegate.answer(.serverTrust(peer, reply), for: id) : reply(.platformDefault)
        if let error = peer.fault(after: reply.value) { update { $0.fail(error) } }
    }

    private func askForBody(_ delegate: any TransportDelegate) {
        guard case .stream = request.body else { return }
        let reply = TransportReply<any TransportBodyStream>()
        delegate.answer(.bodyFromStart(offset: 0, reply), for: id)
        if reply.value == nil { update { $0.fail(TransportError(.bodyNotReplayable)) } }
    }

    // MARK: Upgraded connections

    private func upgrade(_ socket: MockWebSocket, _ handler: @escaping @Sendable (MockWebSocket) async throws -> Void) {
        let stream = request.body.open()
        box.withLock { $0.tunnel?.stream = stream }
        stream.begin { [weak self] in self?.update { $0.tunnel?.mayHaveBytes = true } }
        socket.attach(
            MockWebSocket.Wire(
                write: { [weak self] bytes in self?.update { $0.tunnel?.add(bytes) } },
                end: { [weak self] isReset in self?.update { $0.tunnel?.endByPeer(isReset: isReset) } },
                setReading: { [weak self] reads in self?.update { $0.tunnel?.isPeerReading = reads } }))
        Task { await socket.run(handler) }
    }

    /// Gives the peer the next bytes of the stream.
    private func readTunnel() {
        guard let (stream, socket) = box.withLock({ $0.tunnel.map { ($0.stream, $0.socket) } }) else { return }
        var bytes = Data(count: 65_536)
        switch bytes.withUnsafeMutableBytes({ stream?.read(into: $0) ?? .end }) {
        case .bytes(let count):
            box.withLock { state in
                state.sent += UInt64(count)
                state.tunnel?.mayHaveBytes = true
            }
            socket.receive(bytes.prefix(count))
        case .pending: break
        case .end: box.withLock { $0.tunnel?.endByBody() }
        case .failed(let error): box.withLock { $0.fail(.bodyFailed("the body's stream failed", error)) }
        }
    }

    private func endTunnel() {
        let tunnel = box.withLock { $0.tunnel.take() }
        tunnel?.stream?.end()
        tunnel?.socket.didEnd()
    }
}
