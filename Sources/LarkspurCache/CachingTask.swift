/// A task of a transport with a cache: it serves a stored response, or passes on the events of a task of the base.
///
/// The task goes through these phases: `waiting` for `resume()`, `looking` in the store, and then `asking` the base or
/// `playing` a stored response. A stored response is also played after the base has confirmed it, or has failed.
final class CachingTask: TransportTask, TransportDelegate {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    let instructions: CacheInstructions
    /// The directives of the request.
    let wishes: CacheControl
    let key: CacheKey
    let transport: CachingTransport
    /// Whether the task validates a response that was served stale.
    let isInBackground: Bool

    // Mutable state, guarded by the lock of `Protected`
    let box: Protected<CachingState>

    var cache: HTTPCache { transport.cache }

    init(
        _ request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate, transport: CachingTransport,
        isInBackground: Bool = false
    ) {
        let instructions = request.cache ?? CacheInstructions()
        self.id = id
        self.request = request
        self.instructions = instructions
        self.transport = transport
        self.isInBackground = isInBackground
        key = CacheKey(request, instructions, identity: transport.identity)
        wishes = CacheWishes.control(of: request.fields)
        box = Protected(CachingState(delegate: delegate, allowed: request.initialAllowance))
    }

    // MARK: Control

    func resume() {
        switch box.withLock({ $0.resume() }) {
        case .none: break
        case .look: look()
        case .pump: pump()
        case .pass(let inner): inner.resume()
        }
    }

    func suspend() {
        if case .pass(let inner) = box.withLock({ $0.suspend() }) { inner.suspend() }
    }

    func cancel() {
        box.withLock { $0.isCancelled = true }
        end(.cancelled)
    }

    func allow(upTo position: UInt64) {
        let (inner, isPlaying) = box.withLock { state in
            state.allowed = max(state.allowed, position)
            return (state.inner, state.playback != nil)
        }
        inner?.allow(upTo: position)
        if isPlaying { pump() }
    }

    /// Ends the task. A task of the base is cancelled and then ends this task.
    func end(_ error: TransportError) {
        switch box.withLock({ $0.end(error) }) {
        case .none: break
        case .cancel(let inner): inner.cancel()
        case .complete(let delegate, let metrics):
            transport.forget(self)
            if let metrics { delegate.received(.metrics(metrics), for: id) }
            delegate.received(.completed(error), for: id)
        case .pump: pump()
        }
    }

    // MARK: Looking

    private func look() {
        guard CacheWishes.usesCache(request, instructions, wishes), !transport.isInvalidated else {
            return ask(nil)
        }
        cache.store.find(key, for: request.fields) { [self] stored in found(stored) }
    }

    private func found(_ stored: StoredResponse?) {
        let now = cache.now()
        let range = request.range
        switch cache.rules.decide(stored?.head, wishes, instructions, at: now) {
        case .serve(let outcome, let age):
            guard let stored, let playback = Playback(stored, age: age, outcome, range: range, request) else {
                return ask(nil)
            }
            play(playback)
            if outcome == .stale(because: .revalidating) { transport.refresh(stored, request, key) }
        case .ask: ask(range == nil && instructions.policy != .reload ? stored : nil)
        case .refuse:
            guard instructions.policy != .onlyCached else {
                return end(TransportError(.notCached, "the cache has no response for this request"))
            }
            let head = ResponseHead(status: 504, fields: [HeaderField(name: "Content-Length", value: "0")])
            play(Playback(head: head, body: nil, outcome: .miss))
        }
    }

    // MARK: Asking

    /// Sends the request, with the conditions for the stored response if there is one.
    private func ask(_ stored: StoredResponse?) {
        var asked = request
        asked.cache = nil
        if let stored { asked.fields += CacheRules.conditions(for: stored.head) }
        if let directive = CacheWishes.directive(for: request, instructions, isInBackground: isInBackground) {
            asked.fields.append(directive)
        }
        let mayStore = CacheWishes.mayStore(request, instructions, wishes)
        let exchange = CacheExchange(
            stored: stored, mayStore: mayStore, isBypass: !CacheWishes.usesCache(request, instructions, wishes),
            requested: cache.now(), mark: cache.mark)
        let inner = transport.base.task(for: asked, id: id, delegate: self)
        guard box.withLock({ $0.ask(inner, exchange) }) else { return inner.cancel() }
        inner.allow(upTo: box.withLock { $0.allowed })
        if box.withLock({ $0.isCancelled }) { inner.cancel() }
        // A task that is paused now is started by the next `resume()`. If the pace changes meanwhile, the other thread
        // and this one may call the base's task in any order, so the last pace is set until it no longer changes.
        var pace: Bool? = true
        while let wanted = box.withLock({ $0.pace(of: inner) }), wanted != pace {
            if wanted { inner.suspend() } else { inner.resume() }
            pace = wanted
        }
    }

    // MARK: The base's events

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .head(let head): receive(head)
        case .body(let bytes):
            guard let (delegate, writer) = box.withLock({ $0.receiver }) else { return }
            writer?.append(bytes)
            delegate.received(event, for: id)
        case .metrics(let metrics):
            box.withLock { $0.keep(metrics) }?.received(event, for: id)
        case .completed(let error): complete(error)
        case .bodySent, .cache:
            box.withLock { $0.delegate }?.received(event, for: id)
        }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {
        box.withLock { $0.delegate }?.answer(question, for: id)
    }

    private func receive(_ head: ResponseHead) {
        guard let (exchange, delegate) = box.withLock({ $0.exchangeAndDelegate }) else { return }
        let now = cache.now()
        if let stored = exchange.stored {
            if head.status == 304 {
                let isValid = CacheRules.validates(head, stored.head)
                return box.withLock { $0.exchange?.verdict = isValid ? .confirmed(head) : .refuted }
            }
            if CacheRules.isFailure(head.status),
                cache.rules.mayReplaceFailure(stored.head, wishes, instructions, at: now)
            {
                let inner = box.withLock { state in
                    state.exchange?.verdict = .replaced(head.status)
                    return state.inner
                }
                inner?.cancel()
                return
            }
        }
        for url in CacheRules.invalidated(by: head, to: request) { cache.remove(url) }
        if request.method == "HEAD", exchange.mayStore { updateStored(by: head, exchange, at: now) }
        let outcome: CacheOutcome = exchange.isBypass ? .bypassed : .miss
        cache.count(outcome)
        let writer = exchange.mayStore ? begin(head, exchange, at: now) : nil
        if writer == nil, request.method == "GET", let stored = exchange.stored, CacheRules.supersedes(head.status) {
            cache.store.remove(stored)
        }
        box.withLock { state in
            state.exchange?.verdict = .passed
            state.exchange?.writer = writer
        }
        delegate.received(.cache(outcome), for: id)
        delegate.received(.head(head), for: id)
    }

    /// Begins to store the response, if it may be stored.
    private func begin(_ head: ResponseHead, _ exchange: CacheExchange, at now: Double) -> (any CacheWriter)? {
        guard cache.rules.mayStore(head, to: request, wishes),
            cache.isCurrent(key.url, since: exchange.mark)
        else { return nil }
        let stored = StoredHead(
            of: head, to: request, key, requested: exchange.requested, received: now, isShared: cache.options.isShared)
        return cache.store.begin(stored, length: head.contentLength)
    }

    /// Updates the stored response by the response to a HEAD, or removes it if the server has another one by now.
    private func updateStored(by head: ResponseHead, _ exchange: CacheExchange, at now: Double) {
        guard head.status == 200 else { return }
        let (cache, request, wishes) = (cache, request, wishes)
        cache.store.find(key, for: request.fields) { stored in
            guard let stored else { return }
            let updated = stored.head.updated(
                by: head, to: request, requested: exchange.requested, received: now, isShared: cache.options.isShared)
            guard CacheRules.describes(head, stored.head), cache.rules.mayKeep(updated, after: head, wishes) else {
                return cache.store.remove(stored)
            }
            cache.store.update(stored, to: updated)
        }
    }

    private func complete(_ error: TransportError?) {
        guard let (exchange, delegate) = box.withLock({ $0.exchangeAndDelegate }) else { return }
        let now = cache.now()
        let sequel = sequel(of: exchange, error, at: now)
        if exchange.verdict?.isPassed == true { finish(exchange.writer, error, exchange) }
        if box.withLock({ $0.leaveExchange(isToContinue: sequel != nil) }), let sequel, let stored = exchange.stored {
            switch sequel {
            case .confirm(let head): confirm(stored, by: head, exchange, at: now)
            case .replace(let reason): play(stored, .stale(because: reason), exchange.metrics, at: now)
            case .askAgain:
                cache.store.remove(stored)
                ask(nil)
            }
            return
        }
        if exchange.verdict?.isPassed != true {
            delegate.received(.metrics(exchange.metrics ?? TransportMetrics()), for: id)
        }
        // If something could have followed, only a cancel has kept it from that.
        delegate.received(.completed(sequel == nil ? error : .cancelled), for: id)
    }

    /// The sequel of a completed task of the base.
    private enum Sequel {
        case confirm(ResponseHead)
        case askAgain
        case replace(CacheOutcome.StaleReason)
    }

    /// Returns what follows a completed task of the base; nil if this task ends with it.
    private func sequel(of exchange: CacheExchange, _ error: TransportError?, at now: Double) -> Sequel? {
        guard let stored = exchange.stored, error?.code != .invalidated else { return nil }
        switch exchange.verdict {
        case .passed: return nil
        case .confirmed(let head) where error == nil: return .confirm(head)
        case .refuted where error == nil: return .askAgain
        case .replaced(let status): return .replace(.status(status))
        case nil, .confirmed, .refuted:
            guard let error, CacheRules.isFailure(error.code),
                cache.rules.mayReplaceFailure(stored.head, wishes, instructions, at: now)
            else { return nil }
            return .replace(.failed(error.code))
        }
    }

    /// Keeps the received response, leaves that to the framework, or discards an incomplete response.
    private func finish(_ writer: (any CacheWriter)?, _ error: TransportError?, _ exchange: CacheExchange) {
        guard let writer else { return }
        guard error == nil, cache.isCurrent(key.url, since: exchange.mark) else { return writer.drop() }
        if let draft = instructions.draft { draft.put(writer) } else { writer.commit(head: nil, body: nil) }
    }

    private func confirm(
        _ stored: StoredResponse, by head: ResponseHead, _ exchange: CacheExchange, at now: Double
    ) {
        let updated = stored.head.updated(
            by: head, to: request, requested: exchange.requested, received: now, isShared: cache.options.isShared)
        if !cache.rules.mayKeep(updated, after: head, wishes) {
            cache.store.remove(stored)
        } else if cache.isCurrent(key.url, since: exchange.mark) {
            cache.store.update(stored, to: updated)
        }
        let cookies = head.fields.filter { HTTPHeaders.areEqual($0.name, "Set-Cookie") }
        let served = updated.served(age: updated.age(at: now))
        play(
            Playback(
                head: cookies.isEmpty ? served : served.with(served.fields + cookies), body: stored.body,
                outcome: .revalidated, metrics: exchange.metrics))
    }

    private func play(
        _ stored: StoredResponse, _ outcome: CacheOutcome, _ metrics: TransportMetrics?, at now: Double
    ) {
        let head = stored.head.served(age: stored.head.age(at: now))
        play(Playback(head: head, body: stored.body, outcome: outcome, metrics: metrics))
    }

    // MARK: Playing

    private func play(_ playback: Playback) {
        var playback = playback
        if request.method == "HEAD" { playback.end = playback.position }
        let isPlaying = box.withLock { $0.play(playback) }
        guard isPlaying else { return }
        cache.count(playback.outcome)
        pump()
        // The task may be paused now and never resumed, so the transport keeps the task to be able to end it.
        guard box.withLock({ $0.phase == .playing }) else { return }
        if !transport.keep(self) { end(TransportError(.invalidated, "the transport was invalidated")) }
        if box.withLock({ $0.phase != .playing }) { transport.forget(self) }
    }

    /// Delivers the stored response as far as the task's pace allows. Only one thread at a time delivers.
    private func pump() {
        while true {
            let step = box.withLock { $0.nextStep() }
            switch step {
            case .wait: return
            case .head(let head, let outcome, let delegate):
                delegate.received(.cache(outcome), for: id)
                delegate.received(.head(head), for: id)
                box.withLock { $0.playback?.isBusy = false }
            case .read(let body, let position):
                let isNow = Protected<Bool?>(nil)
                body.read(at: position) { [self] result in
                    deliver(result)
                    // If the callback comes later, the loop has ended, and this thread goes on with it.
                    let isLate = isNow.withLock { now in
                        defer { now = now ?? true }
                        return now == false
                    }
                    if isLate { pump() }
                }
                let isLater = isNow.withLock { now in
                    defer { now = now ?? false }
                    return now == nil
                }
                if isLater { return }
            case .complete(let error, let delegate, let metrics):
                transport.forget(self)
                delegate.received(.metrics(metrics), for: id)
                delegate.received(.completed(error), for: id)
                return
            }
        }
    }

    private func deliver(_ result: Result<Data, TransportError>) {
        switch result {
        case .success(let bytes):
            if let (delegate, bytes) = box.withLock({ $0.take(bytes) }) { delegate.received(.body(bytes), for: id) }
        case .failure(let error): box.withLock { $0.playback?.fail(error) }
        }
        box.withLock { $0.playback?.isBusy = false }
    }
}
