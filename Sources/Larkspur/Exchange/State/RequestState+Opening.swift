extension RequestState {
    /// What a request needs when it starts.
    struct Opening: Sendable {
        /// Nil if the request has waited for its start without its session.
        let session: Session?
        let limits: [RequestTimeouts.Limit]
        /// The request object, if the session has yet to keep it.
        let newFace: (any Request)?
    }

    mutating func open() -> Opening {
        Opening(session: session, limits: settings.content.timeouts, newFace: beginKeeping() ? face : nil)
    }
}
