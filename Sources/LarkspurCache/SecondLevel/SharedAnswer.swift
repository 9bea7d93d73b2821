/// The state of a response in the second level.
struct SharedFound: Sendable {
    /// The name of the right to ask for the response.
    var name: String
    var generations: SharedGenerations
    /// Those of the generations that the level does not have, by their names.
    let missing: [String: [UInt8]]
    var response: StoredResponse?
    /// Whether the server's response is not shared.
    var isUnshared = false

    init(_ name: String, _ generations: SharedGenerations, missing: [String: [UInt8]] = [:]) {
        (self.name, self.generations, self.missing) = (name, generations, missing)
    }

    /// Returns whether the response can be served to the task without a request.
    func isServed(_ task: CachingTask, _ rules: CacheRules, _ now: Double) -> Bool {
        guard let response else { return false }
        let instructions = task.isInBackground ? CacheInstructions() : task.instructions
        guard case .serve(let outcome, _) = rules.decide(response.head, task.wishes, instructions, at: now) else {
            return false
        }
        return !task.isInBackground || outcome != .stale(because: .revalidating)
    }

    /// Returns whether each request has to validate the response, so that no process need wait for another one to
    /// validate it.
    func isAlwaysValidated(_ rules: CacheRules) -> Bool {
        guard let head = response?.head else { return false }
        return head.control.noCache || rules.lifetime(of: head) <= 0
    }
}

/// The right to store the response of an exchange in the second level.
struct SharedTicket: Sendable {
    let name: String
    /// The generations before the request was sent.
    let generations: SharedGenerations
    /// The right to ask, which other processes wait for; nil if the process asks without it.
    let turn: SharedCacheTurn?
}

/// The result of a lookup in the second level.
struct SharedAnswer: Sendable {
    /// The response, if it is served.
    let served: StoredResponse?
    /// The right to store the server's response; nil if the level does not have the generations.
    let ticket: SharedTicket?

    init(_ found: SharedFound, _ turn: SharedCacheTurn?, isServed: Bool = false, isKnown: Bool) {
        served = isServed ? found.response : nil
        ticket = isKnown ? SharedTicket(name: found.name, generations: found.generations, turn: turn) : nil
    }
}

// MARK: - The task

extension CachingTask {
    /// Whether the task asks the server if no level has a response.
    var mayAsk: Bool { instructions.policy != .onlyCached && !wishes.onlyIfCached }

    /// Whether the task may ask the server and store the response.
    var mayShare: Bool { mayAsk && !request.fields.contains(where: \.isRange) }

    /// Whether the task waits for the right to ask the server. It does if it may store the response, and if it may be
    /// served the response that another process has stored meanwhile.
    var takesTurn: Bool { mayShare && wishes.maxAge != 0 }

    /// Looks for the response in the second level. Returns false if the cache has none, or if the request does not use
    /// it. Other processes do not know the partitions of some transports, nor the names of evaluators.
    func looksInSecondLevel() -> Bool {
        guard let second = cache.second, request.method == "GET", !transport.partition.isOfProcess,
            instructions.trust.isEmpty, !instructions.isRepeated, !wishes.noCache,
            !transport.isListed(key) || !mayAsk
        else { return false }
        switch instructions.policy {
        case .protocol, .preferCached, .onlyCached: break
        default: guard isInBackground else { return false }
        }
        guard box.withLock({ $0.beginSecondLevel() }) else { return false }
        guard transport.keep(self) else {
            box.withLock { _ = $0.endSecondLevel() }
            return false
        }
        if let total = request.timeouts.total {
            let timer = Task { [weak self] in
                if (try? await Task.sleep(for: total)) != nil { _ = self?.endLooking(with: nil) }
            }
            if !box.withLock({ $0.keepTimer(timer) }) { timer.cancel() }
        }
        second.look(for: self)
        return true
    }

    /// Goes on after the lookup. Returns false if the task has ended meanwhile, or has gone on before.
    func endLooking(with answer: SharedAnswer?) -> Bool {
        guard let (timer, hasEnded) = box.withLock({ $0.endSecondLevel() }) else { return false }
        timer?.cancel()
        transport.forget(self)
        if hasEnded { return false }
        if let served = answer?.served, served.head.isSelected(by: request.fields) {
            found(served, answer?.ticket, isLast: true)
        } else {
            let mark = transport.listMark
            cache.store.find(key, for: request.fields) { [self] stored in
                found(stored, answer?.ticket, isLast: true, mark: mark)
            }
        }
        return true
    }

    /// Returns the writer for a response that is stored in the second level too.
    func shared(_ writer: any CacheWriter, _ head: StoredHead, _ plan: CachePlan, length: UInt64?) -> any CacheWriter {
        guard let second = cache.second else { return writer }
        guard let ticket = plan.ticket else {
            // The generations before the request are not known, so the response cannot be shared.
            if wantsNewer { second.removeResponse(key) }
            return writer
        }
        if let length, length > UInt64(second.maximumSize) {
            second.storeUnshared(key, ticket)
            return writer
        }
        return SharedWriter(writer, head, key, ticket, second)
    }

    /// Notes in the second level that the response is not stored.
    func noteUnshared(_ head: ResponseHead, _ plan: CachePlan) {
        guard let second = cache.second, request.method == "GET", plan.mayStore else { return }
        if let ticket = plan.ticket {
            // After a 429, for one, the response that was to be validated is still of use to other processes.
            let isObsolete = plan.stored == nil || CacheRules.supersedes(head.status)
            if head.status < 500, isObsolete { second.storeUnshared(key, ticket) } else { second.end(ticket.turn) }
        } else if wantsNewer, CacheRules.supersedes(head.status) {
            second.removeResponse(key)
        }
    }

    /// Whether the request passed by the second level to get a newer response, which other processes could share.
    private var wantsNewer: Bool {
        !transport.partition.isOfProcess && instructions.trust.isEmpty
            && (instructions.isRepeated || wishes.noCache || instructions.policy == .reload
                || instructions.policy == .revalidate)
    }

    /// Ends the turn of an exchange that has brought nothing to store, or stores the response that it has confirmed.
    func concludeShared(_ ending: ExchangeEnding, _ plan: CachePlan) {
        guard let second = cache.second, let ticket = plan.ticket else { return }
        switch ending.verdict {
        case .passed where ending.error == nil: break
        case .confirmed(let head, let updated) where ending.error == nil:
            guard let stored = plan.stored, cache.rules.mayKeep(updated, after: head, wishes),
                cache.isCurrent(key.url, since: plan.mark)
            else { return second.storeUnshared(key, ticket) }
            second.store(confirmed: updated, stored.body, key, ticket)
        default: second.end(ticket.turn)
        }
    }
}

/// A response that is being stored in both levels.
final class SharedWriter: CacheWriter {
    private let base: any CacheWriter
    private let head: StoredHead
    private let key: CacheKey
    private let ticket: SharedTicket
    private let second: SecondLevel
    /// The body; nil if it is too large, or after the end.
    private let body = Protected<Data?>(Data())
    private let hasEnded = Protected(false)

    init(
        _ base: any CacheWriter, _ head: StoredHead, _ key: CacheKey, _ ticket: SharedTicket, _ second: SecondLevel
    ) {
        (self.base, self.head, self.key, self.ticket, self.second) = (base, head, key, ticket, second)
    }

    func append(_ bytes: Data) {
        base.append(bytes)
        _ = body.withLock { received -> Data? in
            guard let count = received?.count else { return nil }
            guard count + bytes.count <= second.maximumSize else { return received.take() }
            received?.append(bytes)
            return nil
        }
    }

    func isBehind(_ caughtUp: @escaping @Sendable () -> Void) -> Bool { base.isBehind(caughtUp) }

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        base.read(at: position, done)
    }

    var isOpen: Bool { base.isOpen }
    var servesReadersOnly: Bool { base.servesReadersOnly }
    var firstKept: UInt64 { base.firstKept }

    func release(before position: UInt64, orBefore limit: UInt64) {
        base.release(before: position, orBefore: limit)
    }

    func commit(head: StoredHead?, body: Data?) {
        base.commit(head: head, body: body)
        guard end() else { return }
        let received = self.body.withLock { $0.take() }
        second.store(head ?? self.head, body ?? received, key, ticket)
    }

    func drop() {
        base.drop()
        _ = body.withLock { $0.take() }
        if end() { second.end(ticket.turn) }
    }

    private func end() -> Bool {
        hasEnded.withLock { ended in
            defer { ended = true }
            return !ended
        }
    }
}
