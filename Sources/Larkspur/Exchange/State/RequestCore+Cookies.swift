/// Access to the session's cookie jar. The transport's thread must not use the jar, because the jar calls a clock,
/// which may be user code (rule R2 in Concurrency.md).
extension RequestCore {
    private var jar: CookieJar? { context.configuration.cookieJar }

    func cookies(for url: RequestURL) -> String? { jar?.header(for: url, askedBy: id) }

    /// Returns whether the jar has to store a cookie of this hop, or has to provide the cookies for the next hop.
    func needsJar(after hop: Hop?) -> Bool {
        guard let hop, let head = hop.head,
            head["Set-Cookie"] != nil || HopPolicy.isAnswered(head, to: hop.request)
        else { return false }
        return jar != nil && hop.request.options.usesCookieJar != false
    }

    /// Stores a response's cookies. The pipeline calls this before it builds the next hop, and before the caller gets
    /// the response.
    func keepCookies(of outcome: HopOutcome) {
        guard let jar, let hop = outcome.hop, let head = hop.head, head["Set-Cookie"] != nil else { return }
        jar.store(head, from: hop.request.url)
    }
}
