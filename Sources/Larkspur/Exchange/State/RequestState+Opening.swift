extension RequestState {
    /// The values that the start of a request needs.
    struct Opening: Sendable {
        /// Nil if the request has waited for `resume()` without keeping its session.
        let session: Session?
        let limits: [RequestTimeouts.Limit]
        /// The request object, if it is not registered with the session yet.
        let newOwner: (any Request)?
    }

    mutating func open() -> Opening {
        Opening(session: session, limits: settings.content.timeouts, newOwner: beginRegistration() ? owner : nil)
    }
}
