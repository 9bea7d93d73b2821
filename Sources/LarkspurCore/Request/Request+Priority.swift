extension Request {
    /// Sets the priority of the request where requests wait for a limit, in place of the session's priority.
    ///
    ///     await session.request(url).priority(.high)
    ///
    /// A change applies from the next attempt on.
    @discardableResult
    public func priority(_ priority: RequestPriority) -> Self {
        handle.core.set("priority") { $0.priority = priority }
        return self
    }
}
