/// The settings of a request that decide about its responses.
extension Request {
    /// Sets the handler for the redirects of this request, in place of the session's handler.
    ///
    /// Set the handler before the request starts, because it is not called for redirects whose heads have already
    /// arrived.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        handle.core.set("redirect handler") { $0.redirectHandler = handler }
        return self
    }

    /// Calls the closure once for each attempt that gets a response, before validation.
    ///
    ///     request.onResponseHead { head in head["X-Maintenance"] == nil ? .allow : .cancel }
    ///
    /// The closure gets the final response, not a redirect that is followed. It is called when the head has arrived.
    /// Until the closure returns, the transport delivers at most the first 64 KiB of the body, so that `.cancel` can
    /// end an endless body. Several closures are called in the order in which they were added, until one of them
    /// returns `.cancel`.
    ///
    /// In two cases the body has already arrived when the closure is called: the closure was added while the request
    /// was running, or the request has middleware and keeps its body in memory. With middleware, the closure gets the
    /// response that the middleware returns.
    @discardableResult
    public func onResponseHead(perform gate: @escaping @Sendable (ResponseHead) async -> ResponseDisposition) -> Self {
        handle.core.set("response gate") { $0.gates.append(gate) }
        return self
    }

    // MARK: The cache

    /// Sets the way in which the request uses the session's cache, in place of the session's way. Without a cache it
    /// has no effect.
    ///
    ///     session.request(url).cachePolicy(.preferCached(maxStale: .seconds(86_400)))
    @discardableResult
    public func cachePolicy(_ policy: CachePolicy) -> Self {
        handle.core.set("cache policy") { $0.cachePolicy = policy }
        return self
    }

    /// Sets the handler that decides whether the cache stores this request's response, in place of the session's
    /// handler.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        handle.core.set("cached response handler") { $0.cachedResponseHandler = handler }
        return self
    }
}
