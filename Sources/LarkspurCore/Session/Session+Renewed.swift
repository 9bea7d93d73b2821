extension Session {
    /// Returns a session that replaces this one, for example after ``invalidate()``: with the same configuration and
    /// transport, and so with the connections that are kept.
    ///
    ///     await session.invalidate()
    ///     session = session.renewed()
    ///
    /// The new session shares the cookie jar, the credentials, the cache and the retry budget, and has the current
    /// ``headers``. Requests of the old session are not repeated.
    public nonisolated func renewed() -> Session { extending { _ in } }
}
