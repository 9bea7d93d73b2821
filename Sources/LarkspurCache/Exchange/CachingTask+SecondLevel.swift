/// The task's part of a lookup in the second level.
extension CachingTask: SecondLevelReader {
    var store: any CacheStore { cache.store }
    var mark: UInt64 { cache.mark }

    func isCurrent(since mark: UInt64) -> Bool { cache.isCurrent(key.url, since: mark) }

    /// Whether the task asks the server if no level has a response.
    var mayAsk: Bool { instructions.policy != .onlyCached && !wishes.onlyIfCached }

    var mayShare: Bool { mayAsk && !request.fields.contains(where: \.isRange) }

    var takesTurn: Bool { mayShare && wishes.maxAge != 0 }

    func serves(_ stored: StoredHead, at now: Double) -> Bool {
        let instructions = isInBackground ? CacheInstructions() : instructions
        guard case .serve(let outcome, _) = cache.rules.decide(stored, wishes, instructions, at: now) else {
            return false
        }
        return !isInBackground || outcome != .stale(because: .revalidating)
    }

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
