extension Session {
    /// Removes the stored verdicts of your trust evaluators, so that the evaluators run again.
    ///
    /// Without this call a verdict is kept for ten minutes, for one host and one chain of certificates. Call this
    /// method when the reason for a verdict has changed: new pins, a revoked certificate, a certificate that the user
    /// has accepted.
    ///
    ///     session.forgetTrustVerdicts(for: "api.example.com")
    ///
    /// Over URLSession, later requests also open new connections, because URLSession judges only new ones.
    ///
    /// Requests that wait for a running evaluation still get its result, but later requests start another evaluation.
    /// Other sessions keep their verdicts, including sessions that ``extending(_:)`` has made. You can call this method
    /// from any thread.
    ///
    /// - Parameter host: The host whose verdicts are removed, written as in a URL; nil removes all verdicts.
    public nonisolated func forgetTrustVerdicts(for host: String? = nil) {
        context.trust?.forget(host)
    }
}
