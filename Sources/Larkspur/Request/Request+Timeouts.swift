extension Request {
    /// Limits how long the request, its attempts or their hops may take, in place of the session's limits.
    ///
    ///     request.timeout(.connect(.milliseconds(300)), .total(.seconds(5)))
    ///
    /// Set while the request runs, the total counts at once, from the start; the others do from the next attempt on.
    @discardableResult
    public func timeout(_ limits: RequestTimeouts.Limit...) -> Self {
        let core = handle.core
        core.set("timeout") { $0.timeouts += limits }
        let (isRunning, all) = core.read { ($0.isWithPipeline, $0.settings.timeouts) }
        if isRunning { core.watchTotal(all) }
        return self
    }

    /// How much time is left until the request's total timeout passes, or the attempt's if that is sooner; nil without either.
    public var timeLeft: Duration? { handle.core.timeLeft }
}
