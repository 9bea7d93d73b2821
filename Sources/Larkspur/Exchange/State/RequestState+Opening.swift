extension RequestState {
    /// The values that the start of a request needs.
    struct Opening: Sendable {
        /// The session that the request kept alive. Nil if the request released its session while waiting for
        /// `resume()`; the core then gets the session from its context.
        let session: Session?
        let limits: [RequestTimeouts.Limit]
        /// The request object, if it is not registered with the session yet.
        let newOwner: (any Request)?
        /// The followers to tell that the request has started.
        let followers: [RequestFollower<Void>]
    }

    mutating func open() -> Opening {
        Opening(
            session: session, limits: settings.content.timeouts, newOwner: beginRegistration() ? owner : nil,
            followers: settings.content.followers.changes)
    }
}
