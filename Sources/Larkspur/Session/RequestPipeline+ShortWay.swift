/// The way, on Linux, of a request that asks nobody, as `session.request(url).serializingData()` (<doc:ThePipeline>).
///
/// It is the loop's way, gone without waiting. The caller's thread builds the request and hands it to the transport; when
/// the hop has ended, the one awaiter is resumed and validates, serializes and finishes; if nobody or more than one awaits,
/// the transport's thread does. So there is no task, and no thread is woken but the awaiter's: that costs more than all else
/// that the framework does. The awaiter has the work because the transport's one thread has that of all requests, and so that
/// what a request is made of ends on a thread like the one that made it: to return memory to another thread's heap costs too.
/// At the first thing out of the ordinary (an error, a redirect, a cancel, something attached meanwhile) the loop takes over.
extension RequestPipeline {
    /// Sends a plain request from here; false if it has to go the long way.
    func startShortWay() -> Bool {
        guard core.receiver == nil, core.read({ $0.hasShortWork }),
            var request = try? core.source.buildAtOnce(in: core.context),
            (try? request.complete(knowing: core.context.knownHeaders)) != nil
        else { return false }
        return core.beginHop(request, for: session, .nobody) { $0.beginShortWay($1, for: session) } != .ignore
    }
}

extension RequestCore {
    /// What the transport's thread has left to an awaiter; whoever comes first does it.
    func settleShortWay() {
        if let (exchange, work, _) = box.withLock({ $0.endShortHop() }) { settleShortWay(exchange, work) }
    }

    /// The same for somebody who must not be held up. Unstructured: nobody waits for it.
    func settleShortWayApart() {
        Task.detached { self.settleShortWay() }
    }

    /// The end of a hop on the short way.
    func settleShortWay(_ exchange: CompletedExchange, _ work: RequestState.ShortWork?) {
        if let work, exchange.codings.isEmpty, !hasNewCookies(exchange.hop),
            !hasRefusedCredential(exchange.hop),
            work.validators.allSatisfy({ $0.acceptsAtOnce(exchange) }),
            let response = work.serialize(exchange),
            let finish = box.withLock({ $0.finishShortWay(work, response, exchange) })
        {
            return conclude(finish, exchange)
        }
        let (face, session) = read { ($0.face, $0.session) }
        guard let face, let session else { return assertionFailure("a request was given up before its hop had ended") }
        RequestPipeline(core: self, face: face, session: session).goOn(after: exchange)
    }
}
