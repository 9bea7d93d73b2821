/// A task of a transport with a cache: it serves a stored response, or the response of an exchange with the base.
///
/// The task goes through these phases: `waiting` for `resume()`, `looking` in the store, `asking` in an exchange, which
/// it may share with equal tasks, and then `passing` or `playing` the response. The only reader of an exchange passes
/// the events on as they come. A stored response is played, also after the base has confirmed it or has failed.
final class CachingTask: TransportTask {
    // Immutable
    let id: TransportTaskID
    let request: TransportRequest
    let instructions: CacheInstructions
    /// The directives of the request.
    let wishes: CacheControl
    /// Whether the cache takes part in the request at all.
    let usesCache: Bool
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
        key = CacheKey(request, instructions, transport.partition)
        wishes = CacheWishes.control(of: request.fields)
        usesCache = CacheWishes.usesCache(request, instructions, wishes)
        box = Protected(CachingState(delegate: delegate, allowed: request.initialAllowance))
    }

    // MARK: Control

    func resume() { act(box.withLock { $0.resume() }) }

    func suspend() { act(box.withLock { $0.suspend() }) }

    func cancel() { end(.cancelled) }

    func allow(upTo position: UInt64) { act(box.withLock { $0.allow(upTo: position) }) }

    private func act(_ action: CachingState.PaceAction) {
        if action.looks { return look() }
        if let (exchange, seat, pace) = action.seat { exchange.set(pace, of: seat) }
        if action.pumps { pump() }
    }

    /// Ends the task. The only reader of an exchange cancels the exchange, whose end then ends the task.
    func end(_ error: TransportError) {
        perform(box.withLock { $0.end(error) }, error)
    }

    func perform(_ action: CachingState.EndAction, _ error: TransportError?) {
        switch action {
        case .none, .proceed: break
        case .leave(let exchange, let seat):
            guard exchange.leave(seat, waitsForEnd: true), let error else { return }
            perform(box.withLock { $0.endAlone(error, exchange) }, error)
        case .complete(let delegate, let metrics):
            if box.withLock({ $0.isKept }) { transport.forget(self) }
            releaseRemains()
            if let metrics { delegate.received(.metrics(metrics), for: id) }
            delegate.received(.completed(error), for: id)
        case .pump: pump()
        }
    }

    /// Releases the objects that the task held, without its lock.
    func releaseRemains() { _ = box.withLock { $0.takeRemains() } }

    // MARK: Looking

    private func look() {
        guard usesCache, !transport.isInvalidated else {
            // A request that the cache takes no part in must not become one to the server either.
            let isRefused = instructions.policy == .onlyCached || wishes.onlyIfCached && instructions.policy != .bypass
            return isRefused && !transport.isInvalidated ? refuse() : ask(nil, at: cache.now())
        }
        let mark = transport.listMark
        cache.store.find(key, for: request.fields) { [self] stored in found(stored, mark: mark) }
    }

    /// Looks in the store again, because an equal request may have stored its response since the first look.
    private func lookAgain(_ ticket: SharedTicket?) {
        cache.store.find(key, for: request.fields) { [self] stored in found(stored, ticket, isLast: true) }
    }

    /// Serves the stored response, or asks the server.
    ///
    /// - Parameters:
    ///   - ticket: The right to store the server's response in the second level.
    ///   - isLast: Whether the second level has been asked.
    ///   - mark: The mark of the listed exchanges before the look; nil if the task does not look again.
    func found(
        _ stored: StoredResponse?, _ ticket: SharedTicket? = nil, isLast: Bool = false, mark: UInt64? = nil
    ) {
        let now = cache.now()
        let range = request.range
        if isLast, isInBackground, let stored, cache.isFresh(stored, at: now) {
            return play(Playback(head: stored.head.head, body: nil, outcome: .hit(age: .zero)))
        }
        switch cache.rules.decide(stored?.head, wishes, instructions, at: now) {
        case .serve(let outcome, let age):
            guard let stored, let playback = Playback(stored, age: age, outcome, range: range, request) else {
                return ask(nil, at: now)
            }
            play(playback)
            if outcome == .stale(because: .revalidating) { transport.refresh(stored, request, key) }
        case .ask:
            if !isLast, looksInSecondLevel() { return }
            let validated = range == nil && instructions.policy != .reload ? stored : nil
            ask(validated, at: now, ticket: ticket, mark: mark)
        case .refuse:
            if !isLast, looksInSecondLevel() { return }
            refuse()
        }
    }

    /// Ends a request that may only be answered from the cache: with an error if the policy says so, or with the
    /// response that RFC 9111 names for the directive.
    private func refuse() {
        guard instructions.policy != .onlyCached else {
            return end(TransportError(.notCached, "the cache has no response for this request"))
        }
        let head = ResponseHead(status: 504, fields: [HTTPHeader(name: "Content-Length", value: "0")])
        play(Playback(head: head, body: nil, outcome: .miss))
    }

    // MARK: Asking

    /// Joins an equal request that is in flight, or sends the request. If there is a stored response, it is validated.
    ///
    /// - Parameter mark: The mark of the listed exchanges before the task looked in the store; nil if the task does not
    ///   look again.
    func ask(
        _ stored: StoredResponse?, at now: Double, joins: Bool = true, ticket: SharedTicket? = nil,
        mark: UInt64? = nil
    ) {
        let plan = CachePlan(
            stored: stored, mayStore: usesCache && !request.fields.contains(where: \.isRange), isBypass: !usesCache,
            requested: now, mark: cache.mark, ticket: ticket)
        let isListed = joins && plan.mayStore && request.method == "GET" && cache.options.coalescesMisses
        let exchange = SharedExchange(owner: self, plan: plan, isListed: isListed)
        if isListed {
            switch transport.list(exchange, since: mark) {
            case .listed: break
            case .looksAgain: return lookAgain(ticket)
            case .other(let other):
                guard cache.isCurrent(key.url, since: other.plan.mark) else {
                    // The other request may bring a response from before an unsafe request that has been answered.
                    transport.unlist(other)
                    return ask(stored, at: now, ticket: ticket, mark: mark)
                }
                if mayFollow(other) {
                    if enter(other, stored) { return }
                    // The other exchange has ended just now, so the store may have its response.
                    if mark != nil { return lookAgain(ticket) }
                }
                return ask(stored, at: now, joins: false, ticket: ticket)
            }
        }
        let hasEntered = enter(exchange, stored)
        // If the task has ended, others may have joined its exchange in between.
        if hasEntered || exchange.isNeeded {
            var asked = request
            asked.cache = nil
            box.withLock { $0.shorten(&asked.timeouts) }
            if let stored { asked.fields += CacheRules.conditions(for: stored.head) }
            if let directive = CacheWishes.directive(for: request, instructions, isInBackground: isInBackground) {
                asked.fields.append(directive)
            }
            exchange.start(transport.base.task(for: asked, id: id, delegate: exchange))
        }
        // A task that had joined before may have cancelled the exchange. An exchange that is not listed refuses only a
        // task that has ended.
        if !hasEntered, isListed { ask(stored, at: now, joins: false, ticket: ticket) }
    }

    /// Takes a seat in the exchange. Returns false if it takes no more readers, or if it is this task's own
    /// and the task has ended.
    private func enter(_ exchange: SharedExchange, _ stored: StoredResponse?) -> Bool {
        guard let pace = box.withLock({ $0.ask(exchange, stored) }) else { return exchange.owner !== self }
        guard let ticket = join(exchange, pace) else {
            if let error = box.withLock({ $0.returnToLooking(from: exchange) }) { end(error) }
            return false
        }
        switch box.withLock({ $0.sit(ticket, exchange, pace) }) {
        case .none: break
        case .leave: _ = exchange.leave(ticket.seat, waitsForEnd: false)
        case .set(let pace): exchange.set(pace, of: ticket.seat)
        case .end(let error): end(error)
        }
        if let verdict = ticket.verdict { follow(exchange, verdict, isDirect: false) }
        return true
    }

    /// Joins the exchange. If its base's task waits for an admission, this task waits too. Returns nil if the exchange
    /// takes no more readers.
    private func join(_ exchange: SharedExchange, _ pace: ExchangePace) -> SharedExchange.Ticket? {
        var isWaiting = false
        while true {
            let entry = exchange.join(self, pace, isWaiting: isWaiting)
            if case .seated(let ticket) = entry { return ticket }
            if isWaiting {
                receive(.admission(.admitted(after: .zero)))  // with the time since this task joined
                isWaiting = false
            } else if case .waits(true) = entry {
                box.withLock { $0.joinWait() }
                receive(.admission(.waits))
                isWaiting = true
            }
            if case .closed = entry { return nil }
        }
    }

    // MARK: Playing

    func play(_ playback: Playback) {
        let isHead = request.method == "HEAD"
        let whole = isHead || playback.position > 0 || playback.end == 0 ? nil : playback.body?.whole
        guard box.withLock({ $0.play(playback, prefetched: whole, isHead: isHead) }) else { return }
        cache.count(playback.outcome)
        pump()
        keep()
    }

    /// Lets the transport keep the task if it is still delivering. The task may be paused now and never resumed, so
    /// the transport must be able to end it.
    func keep() {
        guard box.withLock({ $0.keep() }) else { return }
        if !transport.keep(self) { end(TransportError(.invalidated, "the transport was invalidated")) }
        if box.withLock({ $0.phase != .playing }) { transport.forget(self) }
    }

    /// Delivers the response as far as the task's pace allows. Only one thread at a time delivers.
    func pump() {
        while true {
            switch box.withLock({ $0.nextStep() }) {
            case .wait: return
            case .head(let head, let outcome, let delegate):
                delegate.received(.cache(outcome), for: id)
                delegate.received(.head(head), for: id)
                box.withLock { _ = $0.release() }
            case .body(let bytes): deliver(.success(bytes))
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
            case .complete(let error, let delegate, let metrics, let isKept):
                if isKept { transport.forget(self) }
                releaseRemains()
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
        case .failure(let error):
            if box.withLock({ $0.failToRead(error) }) {
                let exchange = box.withLock { $0.exchange }
                if let exchange { transport.unlist(exchange) }
                if goAlone(exchange) { return }
            }
        }
        box.withLock { _ = $0.release() }
    }
}
