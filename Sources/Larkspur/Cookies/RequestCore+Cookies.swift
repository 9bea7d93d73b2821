/// Access to the session's cookie jar. Not called on the transport's thread, because the jar calls a user's clock (R2).
extension RequestCore {
    private var jar: CookieJar? { context.configuration.cookieJar }

    func cookies(for url: RequestURL) -> String? { jar?.header(for: url, askedBy: id) }

    /// Returns whether the hop's response has cookies for the jar.
    func hasNewCookies(_ hop: Hop?) -> Bool {
        guard jar != nil, let hop, hop.request.options.usesCookieJar != false else { return false }
        return hop.head?["Set-Cookie"] != nil
    }

    /// Stores a response's cookies. Runs before the next hop is built, and before the caller receives the response.
    func keepCookies(of outcome: HopOutcome) {
        guard let jar, let hop = outcome.hop, let head = hop.head, hasNewCookies(hop) else { return }
        jar.store(head, from: hop.request.url)
    }
}
