/// Access to the session's stores that responses fill: the cookie jar and the HSTS store. The transport's thread must
/// not use them, because they call a clock, which may be user code (rule R2 in Concurrency.md).
extension RequestCore {
    private var jar: CookieJar? { context.configuration.cookieJar }

    func cookies(for url: RequestURL) -> String? { jar?.header(for: url, askedBy: id) }

    /// Returns whether a store of the session has to learn from this hop, or has to be asked about the next hop.
    func needsStores(after hop: Hop?) -> Bool {
        guard let hop, let head = hop.head else { return false }
        let isAnswered = HopPolicy.isAnswered(head, to: hop.request)
        if needsHSTS(after: head) || isAnswered && context.configuration.hsts != nil { return true }
        guard head["Set-Cookie"] != nil || isAnswered else { return false }
        return jar != nil && hop.request.options.usesCookieJar != false
    }

    /// Stores what a response sets: cookies, and that its host must be reached over TLS. The pipeline calls this before
    /// it builds the next hop, and before the caller gets the response.
    func learn(from outcome: HopOutcome) {
        guard let hop = outcome.hop, let head = hop.head else { return }
        if needsHSTS(after: head) { learnHSTS(from: head, of: hop) }
        if let jar, head["Set-Cookie"] != nil { jar.store(head, from: hop.request.url) }
    }
}
