/// A hop over `URLSession`.
///
/// The hop's state decides what happens; events of the platform only add facts to it. One thread at a time delivers
/// events. A thread that adds a fact meanwhile leaves its delivery to that thread (T5).
final class URLSessionHop: TransportTask {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    private let transport: URLSessionTransport

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<HopState>

    init(
        _ request: TransportRequest, _ id: TransportTaskID, _ delegate: any TransportDelegate,
        _ transport: URLSessionTransport
    ) {
        self.request = request
        self.id = id
        self.transport = transport
        box = Protected(HopState(request, delegate))
    }

    // MARK: Control

    func resume() {
        let (starts, body) = box.withLock { ($0.resume(), $0.body) }
        if starts { return start() }
        body?.setSuspended(false)
        setTimer()
        deliver()
    }

    func suspend() {
        let body = box.withLock { state in
            state.isSuspended = true
            return state.body
        }
        body?.setSuspended(true)
        holdBack()
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
        release(remains)
        if let task = remains.task { transport.commands.async { task.cancel() } }
        deliver()
    }

    private func release(_ remains: HopState.Remains) {
        if let timer = remains.timer { TimerQueue.shared.remove(timer) }
        remains.body?.end()
        transport.didEnd(self)
    }

    // MARK: Start

    private func start() {
        if let fault = transport.fault(of: request) { return end(fault) }
        guard let url = URL(string: request.url.withoutUserInfo.text) else {
            return end(TransportError(.other, "URLSession cannot send a request to this URL"))
        }
        guard let delegate = box.withLock({ $0.delegate }) else { return }
        guard let session = transport.begin(self, for: use(delegate)) else {
            return end(TransportError(.invalidated))
        }
        var outgoing = URLRequest(url: url)
        transport.template.prepare(&outgoing)
        outgoing.httpMethod = request.method
        for field in request.fields { outgoing.addValue(field.value, forHTTPHeaderField: field.name) }
        var file: String?
        switch request.body {
        case .none: break
        case .data(let data): outgoing.httpBody = data
        case .file(let path, let length, let version):
            if let fault = Self.fault(of: path, length, version) { return end(fault) }
            file = path
        case .stream(let source):
            #if canImport(Darwin)
                // On Linux, Foundation would send this field and `Transfer-Encoding: chunked`.
                if let length = source.length { outgoing.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
            #endif
            outgoing.httpBodyStream = open(source.open(), length: source.length)
        }
        let task = session.task(for: outgoing, file: file, self)
        guard box.withLock({ $0.didCreate(task) }) else { return task.cancel() }
        task.resume()
        session.didStart()
        setTimer()
    }

    private func use(_ delegate: any TransportDelegate) -> PlatformSessions.Use {
        if request.asksForTrust, request.url.isHTTPS, let host = request.url.host {
            return .judged(delegate, host: String(host), port: request.url.effectivePort ?? 443)
        }
        if case .stream = request.body { return .upload(delegate) }
        return .plain(delegate)
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

    // MARK: Bodies

    private func open(_ source: any TransportBodyStream, length: UInt64?) -> InputStream? {
        let body = OutgoingBody(source, length: length) { [weak self] in self?.end($0) }
        let isSuspended = box.withLock { state in
            state.body = body
            return state.isSuspended
        }
        body.setSuspended(isSuspended)
        return body.makeInputStream()
    }

    /// Returns the request's body once more from its first byte, for a connection that was lost (T20).
    func openBodyAgain() -> InputStream? {
        guard case .stream(let source) = request.body, let used = box.withLock({ $0.body }) else { return nil }
        used.end()
        let reply = TransportReply<any TransportBodyStream>()
        box.withLock { $0.delegate }?.answer(.bodyFromStart(offset: used.count, reply), for: id)
        guard let fresh = reply.value else {
            end(TransportError(.bodyNotReplayable, "the body cannot be read again", phase: .sending))
            return nil
        }
        return open(fresh, length: source.length)
    }

    // MARK: Facts

    func didReceive(_ response: HTTPURLResponse) {
        guard response.statusCode >= 200 else { return }
        let head = ResponseHead(response)
        guard box.withLock({ $0.didReceive(head) }) else { return }
        setTimer()
        deliver()
    }

    func didReceive(_ data: Data) {
        guard box.withLock({ $0.didReceive(data) }) else { return }
        deliver()
        holdBack()
    }

    func didSend(_ count: UInt64) {
        guard box.withLock({ $0.didSend(count) }) else { return }
        deliver()
    }

    func didComplete(_ error: (any Error)?) {
        var failure = error.map { TransportError($0, hasHead: box.withLock(\.hasHead)) }
        if failure == nil, case .file(let path, let length, let version) = request.body {
            failure = Self.fault(of: path, length, version)
        }
        guard let remains = box.withLock({ $0.didComplete(failure) }) else { return }
        release(remains)
        deliver()
    }

    #if canImport(Darwin)
        func didMeasure(_ transaction: URLSessionTaskTransactionMetrics) {
            let metrics = TransportMetrics(transaction)
            box.withLock { $0.measured = metrics }
        }

        func isWaitingForConnectivity() {
            box.withLock { $0.isWaiting = true }
            setTimer()
        }

        func ask(_ question: TransportQuestion) {
            box.withLock { $0.delegate }?.answer(question, for: id)
        }
    #endif

    // MARK: Delivery

    /// Delivers all events that may be delivered, unless another thread already does.
    private func deliver() {
        guard box.withLock({ $0.beginDelivery() }) else { return }
        while let (event, delegate) = box.withLock({ $0.next() }) { delegate.received(event, for: id) }
        holdBack()
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
    private func setTimer() {
        box.withLock { state in
            guard let time = state.deadline?.time, state.timer.map({ time < $0.time }) ?? true else { return }
            if let timer = state.timer { TimerQueue.shared.remove(timer.id) }
            let id = TimerQueue.shared.add(after: ContinuousClock.now.duration(to: time)) { [weak self] in
                self?.timerFired()
            }
            state.timer = (id, time)
        }
    }

    private func timerFired() {
        let missed = box.withLock { state -> HopState.Deadline? in
            state.timer = nil
            return state.deadline.flatMap { $0.time <= .now ? $0 : nil }
        }
        guard let missed else { return setTimer() }
        let message = "the \(missed.name) timeout of \(missed.limit) has passed"
        end(TransportError(.timedOut, message, phase: missed.phase))
    }
}
