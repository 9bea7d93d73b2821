extension RequestState {
    /// The values that the core needs to start a request.
    struct Opening: Sendable {
        /// The session that the request kept alive. Nil if the request released its session while it waited for
        /// `resume()`. The core then gets the session from its context.
        let session: Session?
        let limits: [RequestTimeouts.Limit]
        /// The request object, if the session has not registered the request yet; otherwise nil.
        let newOwner: (any Request)?
        /// The followers to tell that the request has started.
        let followers: [Follower<Void>]
    }

    mutating func open() -> Opening {
        Opening(
            session: session, limits: settings.content.timeouts, newOwner: beginRegistration() ? owner : nil,
            followers: settings.content.followers.changes)
    }
}
