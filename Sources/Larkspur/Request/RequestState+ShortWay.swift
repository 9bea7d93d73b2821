/// The short way in the state: see `RequestPipeline+ShortWay.swift`.
extension RequestState {
    /// What is left of a request whose hop has gone well, if all of it is the library's own and done in no time.
    struct ShortWork: Sendable {
        let validators: [ResponseValidator]
        let serialize: SerializerJob.Prompt
    }

    /// One serializer, and nothing to ask but the library itself; nobody watches who would have to be told of each step.
    var shortWork: ShortWork? {
        guard isShort, let serialize = queue.solePrompt else { return nil }
        return ShortWork(validators: settings.validators, serialize: serialize)
    }

    /// The same question, when nothing has to be taken along.
    var hasShortWork: Bool { isShort && queue.hasSolePrompt }

    private var isShort: Bool {
        phase != .cancellingHop && settings.isPlain && deadlines.isEmpty && settings.validators.allSatisfy(\.isOwn)
    }

    /// The first hop of a request on the short way; `ignore` if it has to go the long way after all.
    mutating func beginShortWay(_ progress: HopProgress, for session: Session) -> RequestPhase.Verdict {
        guard phase != .preparing || hasShortWork else { return .ignore }
        let verdict = beginHop(progress)
        guard verdict == .proceed else { return verdict }
        beginAttempt()
        attempt?.request = progress.request
        keep(session)
        return verdict
    }

    /// Whether the rest of a hop that has ended was left to an awaiter, who has not begun.
    var isLeftToAwaiter: Bool {
        if case .awaiter = hop?.waiter { true } else { false }
    }

    /// Says whether the response is final, or gives the work that it waits for, or keeps the waiter for it.
    mutating func answer(_ waiter: SerializerSlot.Waiter, in slot: Int) -> SerializerSlot.Answer? {
        let isWork = isLeftToAwaiter
        guard queue[slot].keep(isWork ? (waiter.number, nil) : waiter) else { return .ready }
        return isWork ? .shortWork : nil
    }

    /// Ends the hop for who does what was left; nil if somebody else does. The task is let go of after unlocking.
    mutating func endShortHop() -> (CompletedExchange, ShortWork?, any TransportTask)? {
        guard isLeftToAwaiter, let hop else { return nil }
        return (end(hop, nil), shortWork, hop.task)
    }

    /// Settles, answers and finishes in one step; nil, and nothing has happened, if something has come in between.
    mutating func finishShortWay(
        _ work: ShortWork, _ response: AnyResponse, _ exchange: CompletedExchange
    ) -> Finish? {
        guard phase == .transferring, hasShortWork, settings.validators.count == work.validators.count else {
            return nil
        }
        _ = step(.settle)
        _ = hold(response, in: 0, during: .settling)
        guard case .finished(let finish) = nextWork(finishingBy: .finish, with: exchange) else { return nil }
        return finish
    }
}
