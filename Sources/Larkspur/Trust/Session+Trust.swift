extension Session {
    /// Removes the stored verdicts of your trust evaluators, so that the evaluators run again.
    ///
    /// Otherwise a verdict is kept for ten minutes, for one host and one chain of certificates. Call this when the
    /// reason for a verdict has changed: new pins, a revoked certificate, a certificate that the user has accepted.
    ///
    ///     session.forgetTrustVerdicts(for: "api.example.com")
    ///
    /// A running evaluation still answers the requests that wait for it, but later requests start another one. Verdicts
    /// of other sessions stay, also of those that ``extending(_:)`` has made. It may be called from any thread.
    ///
    /// - Parameter host: The host whose verdicts are removed, as a URL names it; nil removes all verdicts.
    public nonisolated func forgetTrustVerdicts(for host: String? = nil) {
        context.trust?.forget(host)
    }
}
