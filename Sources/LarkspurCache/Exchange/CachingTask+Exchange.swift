/// The facts about a request to the base that are known when it is sent.
struct CachePlan: Sendable {
    /// The stored response that is being validated.
    let stored: StoredResponse?
    let mayStore: Bool
    let isBypass: Bool
    /// The time of the request, in seconds since 1970.
    let requested: Double
    /// The mark of the cache at that time.
    let mark: UInt64
    /// The right to store the response in the second level.
    var ticket: SharedTicket?
}

/// The decision of the owner of an exchange about the response.
indirect enum CacheVerdict: Sendable {
    /// The response is passed on. It is being stored with the second head, if there is one.
    case passed(ResponseHead, StoredHead?)
    /// The 304 with the first head confirms the stored response, which has the second head from then on.
    case confirmed(ResponseHead, StoredHead)
    /// The 304 is not about the stored response.
    case refuted
    /// The stored response is served instead of a failure with this status.
    case replaced(Int)
}

// MARK: - The owner's decisions

extension CachingTask {
    typealias Plan = CachePlan
    typealias Verdict = CacheVerdict
    func judge(_ head: ResponseHead, of exchange: SharedExchange) -> (CacheVerdict, ExchangeStep) {
        let (now, plan) = (cache.now(), exchange.plan)
        if let stored = plan.stored {
            if head.status == 304 {
                guard CacheRules.validates(head, stored.head) else { return (.refuted, .hold) }
                return (.confirmed(head, updated(stored, by: head, plan, at: now)), .hold)
            }
            if CacheRules.isFailure(head.status),
                cache.rules.mayReplaceFailure(stored.head, wishes, instructions, at: now)
            {
                return (.replaced(head.status), .cancel)
            }
        }
        for url in CacheRules.invalidated(by: head, to: request) { cache.remove(url) }
        if request.method == "HEAD", plan.mayStore { updateStored(by: head, plan, at: now) }
        guard plan.mayStore, case let control = CacheControl(head.values(for: "Cache-Control")),
            cache.rules.mayStore(head, control: control, to: request, wishes),
            case let stored = StoredHead(
                of: head, control: control, to: request, key, requested: plan.requested, received: now,
                isShared: cache.options.isShared),
            case let length = head.contentLength, let writer = cache.store.begin(stored, length: length),
            // In this order no removal is missed: the store itself notices those since `begin`.
            cache.isCurrent(key.url, since: plan.mark)
        else {
            removeSuperseded(by: head, plan)
            noteUnshared(head, plan)
            return (.passed(head, nil), .deliver(nil))
        }
        return (.passed(head, stored), .deliver(shared(writer, stored, plan, length: length)))
    }

    /// Returns the head of the stored response after a validation, or after the response to a HEAD.
    private func updated(
        _ stored: StoredResponse, by head: ResponseHead, _ plan: CachePlan, at now: Double
    ) -> StoredHead {
        stored.head.updated(
            by: head, to: request, requested: plan.requested, received: now, isShared: cache.options.isShared)
    }

    /// Updates the stored response by the response to a HEAD, or removes it if the server has another one by now.
    private func updateStored(by head: ResponseHead, _ plan: CachePlan, at now: Double) {
        guard head.status == 200 else { return }
        cache.store.find(key, for: request.fields) { [self] stored in
            // The server may have answered before the stored response was made.
            guard let stored, cache.isCurrent(key.url, since: plan.mark), stored.head.requested <= plan.requested
            else { return }
            let updated = updated(stored, by: head, plan, at: now)
            guard CacheRules.describes(head, stored.head), cache.rules.mayKeep(updated, after: head, wishes) else {
                return cache.store.remove(stored)
            }
            cache.store.update(stored, to: updated)
        }
    }

    /// Removes the stored response that the request selects, because the server has a newer one, which is not stored.
    private func removeSuperseded(by head: ResponseHead, _ plan: CachePlan) {
        guard request.method == "GET", plan.mayStore, CacheRules.supersedes(head.status) else { return }
        if let stored = plan.stored { return cache.store.remove(stored) }
        // This policy does not validate the stored response, so the plan does not have it.
        guard instructions.policy == .reload else { return }
        cache.store.find(key, for: request.fields) { [cache] stored in
            if let stored, stored.head.requested <= plan.requested { cache.store.remove(stored) }
        }
    }

    func conclude(_ ending: ExchangeEnding, of exchange: SharedExchange) {
        let plan = exchange.plan
        concludeShared(ending, plan)
        switch ending.verdict {
        case .passed(let head, _):
            guard let writer = ending.writer else { return }
            if ending.error != nil { return writer.drop() }
            // The response has outgrown the store, or could not be written.
            if !writer.isOpen { removeSuperseded(by: head, plan) }
            guard cache.isCurrent(key.url, since: plan.mark) else { return }
            // The handler of a request that has ended cannot decide any more, so its response is not stored.
            guard let draft = instructions.draft else { return writer.commit(head: nil, body: nil) }
            if ending.hasOwner, let own = ending.draft { draft.put(own) }
        case .confirmed(let head, let updated) where ending.error == nil:
            guard let stored = plan.stored else { return }
            if !cache.rules.mayKeep(updated, after: head, wishes) {
                cache.store.remove(stored)
            } else if cache.isCurrent(key.url, since: plan.mark) {
                cache.store.update(stored, to: updated)
            }
        case .refuted where ending.error == nil:
            if let stored = plan.stored { cache.store.remove(stored) }
        case nil, .confirmed, .refuted, .replaced: break
        }
    }

    func close(_ exchange: SharedExchange, isStored: Bool = false) {
        transport.unlist(exchange, isStored: isStored)
    }

    /// Returns the position up to which the task has delivered the bytes; nil if it does not read them.
    func position(in exchange: SharedExchange) -> UInt64? { box.withLock { $0.position(in: exchange) } }
}

// MARK: - The readers

extension CachingTask {
    /// Returns whether this task may share the response of the exchange, if that turns out to be stored.
    func mayFollow(_ exchange: SharedExchange) -> Bool {
        let (other, policy) = (exchange.owner.request, instructions.policy)
        guard policy != .reload, policy != .revalidate, !instructions.isRepeated, !wishes.noCache,
            request.asksForTrust == other.asksForTrust, request.trustGeneration == other.trustGeneration,
            request.version == other.version
        else { return false }
        var (own, others) = (request.timeouts, other.timeouts)
        // The rest of a limit for the whole request differs from one request to the next.
        (own.total, others.total) = (nil, nil)
        return own == others
    }

    func follow(_ exchange: SharedExchange, _ verdict: CacheVerdict, isDirect: Bool) {
        guard case .passed(let head, let stored) = verdict else { return }
        let playback: Playback
        if exchange.owner === self {
            let outcome: CacheOutcome =
                exchange.plan.isBypass ? .bypassed : cache.takeProblem().map(CacheOutcome.unavailable) ?? .miss
            if isDirect { return pass(head, outcome, of: exchange) }
            playback = Playback(head: head, body: stored == nil ? nil : exchange, outcome: outcome)
        } else if let stored, let hit = hit(stored, exchange) {
            playback = hit
        } else {
            goAlone(exchange)
            return
        }
        guard box.withLock({ $0.begin(playback, of: exchange) }) else { return }
        cache.count(playback.outcome)
        pump()
    }

    /// Passes the response of the exchange on as it comes.
    private func pass(_ head: ResponseHead, _ outcome: CacheOutcome, of exchange: SharedExchange) {
        guard let delegate = box.withLock({ $0.pass(exchange) }) else { return }
        cache.count(outcome)
        delegate.received(.cache(outcome), for: id)
        delegate.received(.head(head), for: id)
        if box.withLock({ $0.release() }) { pump() }
    }

    /// Returns the response that another request has brought as a hit, if the rules allow to serve it to this request.
    private func hit(_ stored: StoredHead, _ body: any StoredBody) -> Playback? {
        guard stored.isSelected(by: request.fields),
            case .serve(let outcome, let age) = cache.rules.decide(stored, wishes, instructions, at: cache.now()),
            outcome != .stale(because: .revalidating)
        else { return nil }
        return Playback(head: stored.served(age: age), body: body, outcome: outcome)
    }

    /// Leaves the exchange and sends the request, because the response of the exchange is not for this request. Returns
    /// false if the task has ended or has left the exchange already.
    @discardableResult
    func goAlone(_ exchange: SharedExchange?) -> Bool {
        guard let (seat, stored, _) = box.withLock({ $0.goAlone(exchange) }) else { return false }
        if let exchange, let seat { _ = exchange.leave(seat, waitsForEnd: false) }
        ask(stored, at: cache.now(), joins: false)
        return true
    }

    func receive(_ bytes: Data, at position: UInt64, from exchange: SharedExchange, isDirect: Bool) {
        let delegate = box.withLock { $0.receive(bytes.count, at: position, from: exchange, isDirect: isDirect) }
        if let delegate {
            delegate.received(.body(bytes), for: id)
            if box.withLock({ $0.release() }) { pump() }
        } else if !isDirect {
            pump()
        }
    }

    /// Passes on an event that is neither the head nor a part of the body.
    func receive(_ event: TransportEvent) {
        var event = event
        guard let delegate = box.withLock({ $0.beginEvent(&event) }) else { return }
        delegate.received(event, for: id)
        switch box.withLock({ $0.endEvent() }) {
        case .none: break
        case .pump: pump()
        case .end(let error): end(error)
        }
    }

    func answer(_ question: TransportQuestion) {
        box.withLock { $0.delegate }?.answer(question, for: id)
    }

    func finish(_ exchange: SharedExchange, _ ending: ExchangeEnding) {
        let isOwner = exchange.owner === self
        if case .passed? = ending.verdict {
            // A task that joined a moment ago, perhaps after `isDirect` was noted, may not have begun to follow.
            if let verdict = ending.verdict, box.withLock({ $0.phase == .asking }) {
                follow(exchange, verdict, isDirect: false)
            }
            switch box.withLock({ $0.finish(exchange, ending, isOwner: isOwner) }) {
            case .none: break
            case .play:
                pump()
                keep()
            case .complete(let error, let delegate, let metrics, let isKept):
                if isKept { transport.forget(self) }
                releaseRemains()
                delegate.received(.metrics(metrics), for: id)
                delegate.received(.completed(error), for: id)
            }
            return
        }
        let sequel = isOwner ? sequel(of: exchange, ending) : othersSequel(of: exchange, ending)
        let metrics = isOwner ? ending.metrics : nil
        let action = box.withLock { $0.leave(exchange, isToContinue: sequel != nil, metrics) }
        guard case .proceed = action, let sequel else {
            // If something could have followed, only a cancel has kept it from that.
            return perform(action, sequel == nil ? ending.error : .cancelled)
        }
        if let start = ending.waitsSince { receive(.admission(.admitted(after: .now - start))) }
        switch sequel {
        case .play(let playback): play(playback)
        case .ask(let stored): ask(stored, at: cache.now(), joins: false)
        }
    }

    /// The sequel of an exchange that has brought no response for this task.
    private enum Sequel {
        case play(Playback)
        case ask(StoredResponse?)
    }

    /// Returns what follows for the owner; nil if the task ends with the exchange.
    private func sequel(of exchange: SharedExchange, _ ending: ExchangeEnding) -> Sequel? {
        guard let stored = exchange.plan.stored, ending.error?.code != .invalidated else { return nil }
        let now = cache.now()
        func stale(_ reason: CacheOutcome.StaleReason) -> Sequel {
            let head = stored.head.served(age: stored.head.age(at: now))
            return .play(
                Playback(head: head, body: stored.body, outcome: .stale(because: reason), metrics: ending.metrics))
        }
        switch ending.verdict {
        case .passed: return nil
        case .confirmed(let head, let updated) where ending.error == nil:
            let cookies = head.fields.filter { HTTPHeaders.areEqual($0.name, "Set-Cookie") }
            let served = updated.served(age: updated.age(at: now))
            return .play(
                Playback(
                    head: cookies.isEmpty ? served : served.with(served.fields + cookies), body: stored.body,
                    outcome: .revalidated, metrics: ending.metrics))
        case .refuted where ending.error == nil: return .ask(nil)
        case .replaced(let status): return stale(.status(status))
        case nil, .confirmed, .refuted:
            guard let error = ending.error, CacheRules.isFailure(error.code),
                cache.rules.mayReplaceFailure(stored.head, wishes, instructions, at: now)
            else { return nil }
            return stale(.failed(error.code))
        }
    }

    /// Returns what follows for a task that is not the owner; nil if the task ends with the exchange.
    private func othersSequel(of exchange: SharedExchange, _ ending: ExchangeEnding) -> Sequel? {
        let stored = box.withLock { $0.stored }
        guard let error = ending.error else {
            if case .confirmed(let head, let updated) = ending.verdict, let body = exchange.plan.stored?.body,
                cache.rules.mayKeep(updated, after: head, wishes), let hit = hit(updated, body)
            {
                return .play(hit)
            }
            return .ask(stored)
        }
        if error.code == .invalidated { return nil }
        if let stored, case let reason = reason(error, ending.verdict), let reason,
            cache.rules.mayReplaceFailure(stored.head, wishes, instructions, at: cache.now())
        {
            let head = stored.head.served(age: stored.head.age(at: cache.now()))
            return .play(Playback(head: head, body: stored.body, outcome: .stale(because: reason)))
        }
        // The failure may be that of the owner alone: the time limit of its request has passed, or its judgement of the
        // server's certificates was not ready. A cancelled exchange has replaced a response with a stored one.
        let isOwners = ending.wasRefused || error.code == .timedOut && exchange.owner.request.timeouts.total != nil
        return isOwners || error.code == .cancelled ? .ask(stored) : nil
    }

    /// Returns the reason to serve a stale response after the exchange has failed.
    private func reason(_ error: TransportError, _ verdict: CacheVerdict?) -> CacheOutcome.StaleReason? {
        if case .replaced(let status) = verdict { return .status(status) }
        return CacheRules.isFailure(error.code) ? .failed(error.code) : nil
    }
}
