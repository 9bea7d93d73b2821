/// The request's part in the session's cache, which is in `CachingTransport`.
extension RequestCore {
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
