extension Session {
    /// The header fields that the session adds to its requests, unless a request has them already; at first those of
    /// its configuration.
    ///
    ///     session.headers.update(.authorization(bearerToken: token))
    ///
    /// Attempts that begin later have the new fields, also those of requests in flight. The property is thread-safe.
    /// A change that depends on the old fields, while another thread may change them too, is made by
    /// ``updateHeaders(_:)``. Sessions that extend this one copy the fields when they are created.
    ///
    /// A token here goes to every origin that the session's requests name. ``BearerTokens`` sends one to its own
    /// origins alone, and refreshes it.
    public nonisolated var headers: HTTPHeaders {
        get { context.headers.fields }
        set { context.headers.update { $0 = newValue } }
    }

    /// Changes the session's header fields in one step: no request sees a part of the change, and no change of another
    /// thread is lost. The closure may be called several times.
    public nonisolated func updateHeaders(_ change: (inout HTTPHeaders) throws -> Void) rethrows {
        try context.headers.update(change)
    }
}
