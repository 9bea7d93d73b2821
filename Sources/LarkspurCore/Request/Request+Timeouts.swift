extension Request {
    /// Sets time limits for the request, its attempts or their hops, in place of the session's limits.
    ///
    ///     request.timeout(.connect(.milliseconds(300)), .total(.seconds(5)))
    ///
    /// A limit that the call does not name keeps its value. If the request is in flight, a total limit applies at once,
    /// counted from the request's start. Other limits apply from the next attempt on.
    ///
    /// - Parameter limits: The limits. See ``RequestTimeouts`` for the defaults.
    @discardableResult
    public func timeout(_ limits: RequestTimeouts.Limit...) -> Self {
        let core = handle.core
        core.set("timeout") { $0.timeouts += limits }
        let (isRunning, all) = core.read { ($0.isWithPipeline, $0.settings.timeouts) }
        // Another total limit than these settings' may apply: that of an adapter, or none while a WebSocket is open.
        if isRunning, limits.contains(where: \.isTotal) { core.watchTotal(all) }
        return self
    }

    /// Sets the time limit of the whole request, as `.timeout(.total(limit))` does: `.timeout(.seconds(3))`.
    @discardableResult
    public func timeout(_ total: Duration) -> Self { timeout(.total(total)) }

    /// The remaining time of the total timeout or of the attempt's timeout, whichever passes first; nil if neither is
    /// set.
    public var timeLeft: Duration? { handle.core.timeLeft }
}
