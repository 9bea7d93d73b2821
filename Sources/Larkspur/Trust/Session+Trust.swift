extension Session {
    /// Forgets the verdicts of your trust evaluators, so that they are asked again.
    ///
    /// A verdict is remembered for ten minutes otherwise, for one host and one chain of certificates. Call this when the
    /// reason for a verdict has changed: a new set of pins, a revoked certificate, a user who has agreed to a certificate.
    ///
    ///     session.forgetTrustVerdicts(for: "api.example.com")
    ///
    /// An evaluation under way still answers the requests that wait for it, but requests that come later start another one.
    /// Verdicts of other sessions stay, also of those that ``extending(_:)`` has made. It may be called from any thread.
    ///
    /// - Parameter host: The host whose verdicts are forgotten, as a URL names it; nil stands for all hosts.
    public nonisolated func forgetTrustVerdicts(for host: String? = nil) {
        context.trust?.forget(host)
    }
}
