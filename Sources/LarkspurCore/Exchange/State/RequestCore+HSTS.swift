/// Access to the session's store of hosts that must be reached over TLS.
extension RequestCore {
    /// Returns the URL to use for a request or a redirect: with `https` if the store has its host.
    func secured(_ url: RequestURL) throws(RequestError) -> RequestURL {
        try context.configuration.hsts?.secured(url) ?? url
    }

    /// Sets the URL to use. The URL is not set if it stays the same, because setting it removes the error about a URL
    /// that was not valid.
    func secure(_ request: inout OutgoingRequest) throws(RequestError) {
        let url = try secured(request.url)
        if url != request.url { request.url = url }
    }

    /// Returns whether the store has to learn from this head.
    func needsHSTS(after head: ResponseHead) -> Bool {
        context.configuration.hsts != nil && head[HSTSStore.field] != nil
    }

    /// Stores what the response says about its host, unless the session accepts every certificate of the host, or the
    /// response comes from the cache.
    func learnHSTS(from head: ResponseHead, of hop: Hop) {
        let url = hop.request.url
        guard let store = context.configuration.hsts, url.isHTTPS, let host = url.host,
            context.trust?.acceptsEverything(of: String(host)) != true,
            [nil, .miss, .bypassed].contains(hop.cache)
        else { return }
        store.learn(from: head, of: url)
    }
}
