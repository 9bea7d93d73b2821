/// A hop over `URLSession`.
///
/// The hop's state decides what happens; events of the platform only add facts to it. One thread at a time delivers
/// events. A thread that adds a fact meanwhile leaves its delivery to that thread (T5).
final class URLSessionHop: TransportTask {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    let transport: URLSessionTransport
    /// The translator of a WebSocket's bytes; nil for other requests.
    let translator: (any SocketTranslator)?

    // Mutable state, guarded by the lock of `Protected`
    let box: Protected<HopState>

    init(
        _ request: TransportRequest, _ id: TransportTaskID, _ delegate: any TransportDelegate,
        _ transport: URLSessionTransport
    ) {
        self.request = request
        self.id = id
        self.transport = transport
        translator = request.upgrades ? request.translator?() : nil
        box = Protected(HopState(request, delegate, timers: transport.timers))
    }

    // MARK: Control

    func resume() {
        if box.withLock({ $0.resume() }) { return start() }
        passSuspension()
        setTimer()
        deliver()
    }

    func suspend() {
        box.withLock { $0.isSuspended = true }
        passSuspension()
        holdBack()
    }

    /// Tells the body whether the hop is suspended. If the hop was suspended or resumed meanwhile, tells it again: the
    /// last call wins, whichever thread makes it.
    private func passSuspension() {
        while true {
            let (body, isSuspended) = box.withLock { ($0.body, $0.isSuspended) }
            guard let body else { return }
            body.setSuspended(isSuspended)
            if box.withLock({ $0.isSuspended == isSuspended }) { return }
        }
    }

    func cancel() { end(.cancelled) }

    func allow(upTo position: UInt64) {
        guard box.withLock({ $0.allow(upTo: position) }) else { return }
        setTimer()
        deliver()
    }

    /// Ends the hop for its delegate, whatever the platform does with its task.
    func end(_ error: TransportError) {
        guard let remains = box.withLock({ $0.end(error) }) else { return }
        drop(remains)
        deliver()
    }

    func drop(_ remains: HopState.Remains) {
        if let task = remains.task { transport.commands.async { task.cancel() } }
        if let socket = remains.socket { transport.commands.async { socket.cancel() } }
        remains.body?.end()
    }

    // MARK: Start

    private func start() {
        if let fault = transport.fault(of: request) { return end(fault) }
        guard var outgoing = URLRequest(request) else {
            return end(TransportError(.other, "URLSession cannot send a request to this URL"))
        }
        guard let delegate = box.withLock({ $0.delegate }) else { return }
        guard let session = transport.begin(self, for: use(delegate)) else {
            return end(TransportError(.invalidated))
        }
        // An end that came before `begin` has released the hop, and later ends release it themselves.
        if box.withLock(\.hasEnded) { return transport.didEnd(self) }
        transport.template.prepare(&outgoing)
        setTimer()
        if let translator { return startSocket(outgoing, translator.maximumMessageSize, in: session) }
        switch request.body {
        case .none: start(outgoing, in: session)
        case .data(let data):
            outgoing.httpBody = data
            start(outgoing, in: session)
        case .file(let path, let length, let version):
            if let fault = Self.fault(of: path, length, version) { return end(fault) }
            start(outgoing, file: path, in: session)
        case .stream(let source): start(outgoing, sending: source, in: session)
        }
    }

    private func start(_ request: URLRequest, file: String? = nil, in session: PlatformSession) {
        let task = session.task(for: request, file: file, self)
        guard box.withLock({ $0.didCreate(task, in: session) }) else { return task.cancel() }
        task.resume()
        setTimer()
    }

    private func use(_ delegate: any TransportDelegate) -> PlatformSessions.Use {
        guard request.asksForTrust, request.url.isHTTPS, let host = request.url.host else { return .plain(delegate) }
        return .judged(
            delegate, host: String(host), port: request.url.effectivePort ?? 443, generation: request.trustGeneration)
    }

    /// Returns the reason why the file cannot be sent (T24).
    private static func fault(
        of path: String, _ length: UInt64, _ version: TransportFileVersion?
    ) -> TransportError? {
        do {
            let now = try ReadableFile(path: path).status()
            guard now.length == length, version == nil || version == now.version else {
                return .bodyFailed("the file \(path) has changed since the body was made")
            }
            return nil
        } catch {
            return .bodyFailed(error.message, error)
        }
    }

    // MARK: Streamed bodies

    /// Opens the body. Returns nil if the hop has ended.
    func open(_ source: any TransportBodyStream, length: UInt64?) -> OutgoingBody? {
        let body = OutgoingBody(source, length: length) { [weak self] in self?.end($0) }
        guard box.withLock({ $0.didOpen(body) }) else {
            body.end()
            return nil
        }
        passSuspension()
        return body
    }

    #if canImport(Darwin)
        private func start(_ request: URLRequest, sending source: TransportBodySource, in session: PlatformSession) {
            guard let body = open(source.open(), length: source.length) else { return }
            var request = request
            if let length = source.length { request.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
            request.httpBodyStream = body.makeInputStream()
            start(request, in: session)
        }

        /// Returns the request's body once more from its first byte, for a connection that was lost (T20).
        func openBodyAgain() -> InputStream? {
            guard case .stream(let source) = request.body, let used = box.withLock({ $0.body }) else { return nil }
            used.end()
            let reply = TransportReply<any TransportBodyStream>()
            ask(.bodyFromStart(offset: used.count, reply))
            guard let fresh = reply.value else {
                end(TransportError(.bodyNotReplayable, "the body cannot be read again", phase: .sending))
                return nil
            }
            return open(fresh, length: source.length)?.makeInputStream()
        }
    #else
        private func start(_ request: URLRequest, sending source: TransportBodySource, in session: PlatformSession) {
            guard let body = open(source.open(), length: source.length) else { return }
            guard let file = SpooledBody(body) else {
                return end(.bodyFailed("the system cannot create a temporary file for the body"))
            }
            guard box.withLock({ $0.keep(file) }) else { return }
            file.copy { [weak self] in
                self?.box.withLock { $0.didRead() }
            } _: { [weak self] length in
                self?.box.withLock { $0.bodyLength = length }
                self?.start(request, file: file.path, in: session)
            } _: { [weak self] in
                self?.end($0)
            }
        }

        func openBodyAgain() -> InputStream? { nil }
    #endif

    // MARK: Facts

    func didReceive(_ response: HTTPURLResponse) {
        guard response.statusCode >= 200, !hasUnjudgedServer() else { return }
        let head = ResponseHead(response)
        guard box.withLock({ $0.didReceive(head) }) else { return }
        setTimer()
        deliver()
    }

    /// Ends the hop if it asks for trust and the system has not asked about the server. The system may resume a TLS
    /// session of another connection. Returns whether the hop was ended.
    func hasUnjudgedServer() -> Bool {
        #if canImport(Darwin)
            if request.asksForTrust, request.url.isHTTPS, box.withLock({ $0.session })?.hasJudged == false {
                let message = "the system resumed a TLS session whose server was not judged"
                end(TransportError(.untrusted, message, phase: .securing))
                return true
            }
        #endif
        return false
    }

    func didReceive(_ data: Data) {
        guard box.withLock({ $0.didReceive(data) }) else { return }
        deliver()
        holdBack()
    }

    func didSend(_ count: UInt64) {
        guard box.withLock({ $0.didSend(count) }) else { return }
        setTimer()
        deliver()
    }

    /// Handles the end of the platform's task.
    ///
    /// - Parameter response: The response of a task that delivers no head, such as a WebSocket's.
    func didComplete(_ error: (any Error)?, _ response: HTTPURLResponse? = nil) {
        if translator != nil { return socketDidComplete(error, response) }
        let bodies = box.withLock { $0.takeOpened() }
        #if canImport(Darwin)
            for body in bodies { body.gone() }
        #else
            withExtendedLifetime(bodies) {}
        #endif
        var failure = error.map { TransportError($0, hasHead: box.withLock(\.hasHead)) }
        if failure == nil || failure?.code == .other, case .file(let path, let length, let version) = request.body {
            failure = Self.fault(of: path, length, version) ?? failure
        }
        guard let remains = box.withLock({ $0.didComplete(failure) }) else { return }
        remains.body?.end()
        deliver()
    }

    #if canImport(Darwin)
        func didMeasure(_ transaction: URLSessionTaskTransactionMetrics) {
            let metrics = TransportMetrics(transaction)
            // A protocol class of the app counts no bytes.
            let count = transaction.countOfResponseBodyBytesReceived
            box.withLock { $0.didMeasure(metrics, codedBytes: count > 0 ? UInt64(count) : nil) }
        }

        func isWaitingForConnectivity() {
            guard box.withLock({ $0.didWait() }) else { return }
            setTimer()
            deliver()
        }

        func didJudge() { box.withLock { $0.session }?.didJudge() }

        func ask(_ question: TransportQuestion) {
            box.withLock { $0.delegate }?.answer(question, for: id)
        }
    #endif

    // MARK: Delivery

    /// Delivers all events that may be delivered, unless another thread already does.
    func deliver() {
        guard box.withLock({ $0.beginDelivery() }) else { return }
        while let (event, delegate) = box.withLock({ $0.next() }) {
            if case .completed = event { release() }
            delegate.received(event, for: id)
        }
        translator == nil ? holdBack() : work()
    }

    private func release() {
        drop(box.withLock { $0.leftovers() })
        if let timer = box.withLock({ $0.timer.take() }) { transport.timers.remove(timer.id) }
        transport.didEnd(self)
    }

    /// Suspends the platform's task while too many bytes wait for their delivery, and resumes it afterwards (T16). On
    /// Linux, a task that was suspended does not go on.
    private func holdBack() {
        #if canImport(Darwin)
            guard box.withLock({ $0.isHoldDue }) else { return }
            transport.commands.async { [self] in
                guard let (task, isHeld) = box.withLock({ $0.hold() }) else { return }
                isHeld ? task.suspend() : task.resume()
            }
        #endif
    }

    // MARK: Time

    /// Sets the timer to the hop's next deadline, unless the timer fires earlier anyway.
    func setTimer() {
        box.withLock { state in
            guard let time = state.deadline?.time, state.timer.map({ time < $0.time }) ?? true else { return }
            if let timer = state.timer { transport.timers.remove(timer.id) }
            let id = transport.timers.add(after: state.now.duration(to: time)) { [weak self] in
                self?.timerFired()
            }
            state.timer = (id, time)
        }
    }

    private func timerFired() {
        let missed = box.withLock { state -> HopState.Deadline? in
            state.timer = nil
            return state.deadline.flatMap { $0.time <= state.now ? $0 : nil }
        }
        guard let missed else { return setTimer() }
        let message = "the \(missed.name) timeout of \(missed.limit.readable) has passed"
        end(TransportError(.timedOut, message, phase: missed.phase))
    }
}
