/// The session's jar on the way of a request. Never on the transport's thread: what expires does so by somebody's clock (R2).
extension RequestCore {
    private var jar: CookieJar? { context.configuration.cookieJar }

    func cookies(for url: RequestURL) -> String? { jar?.header(for: url, askedBy: id) }

    /// Whether there is something for the jar in what came of a hop.
    func hasNewCookies(_ hop: Hop?) -> Bool {
        guard jar != nil, let hop, hop.request.options.usesCookieJar != false else { return false }
        return hop.head?["Set-Cookie"] != nil
    }

    /// Keeps what a hop has set, before another hop is built, or somebody is given the response.
    func keepCookies(of outcome: HopOutcome) {
        guard let jar, let hop = outcome.hop, let head = hop.head, hasNewCookies(hop) else { return }
        jar.store(head, from: hop.request.url)
    }
}
