/// The request's part in the session's cache, which is in `CachingTransport`.
extension RequestCore {
    /// Returns what the cache has to know about a hop; nil if the session has no cache.
    func cacheInstructions(for request: OutgoingRequest) -> CacheInstructions? {
        guard context.configuration.cache != nil else { return nil }
        let (policy, handler, attempt) = read {
            ($0.settings.content.cachePolicy, $0.settings.content.cachedResponseHandler, $0.attemptCount)
        }
        var instructions = CacheInstructions()
        instructions.policy = policy ?? request.options.cachePolicy ?? .protocol
        instructions.isRepeated = attempt > 1
        if handler != nil { instructions.draft = CacheDraftBox() }
        if let trust = context.trust, request.url.isHTTPS, let host = request.url.host, trust.covers(String(host)) {
            instructions.trust = trust.name
            instructions.judge = { trust.immediateDecision(on: $0) }
        }
        return instructions
    }

    /// Lets the handler decide about a response that the cache may store.
    func settleDraft(of exchange: CompletedExchange) async {
        guard let hop = exchange.hop, let draft = hop.draft?.take() else { return }
        guard let head = hop.head, let handler = read({ $0.settings.content.cachedResponseHandler }) else {
            return draft.drop()
        }
        let response = CacheableResponse(request: hop.request, head: head, body: exchange.data)
        guard let answer = await handler.answer(to: response), isWithPipeline else { return draft.drop() }
        draft.commit(
            head: answer.head == head ? nil : answer.head, body: answer.body == exchange.data ? nil : answer.body)
    }
}
