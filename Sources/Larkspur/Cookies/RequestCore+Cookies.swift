/// The session's jar on the way of a request. Never on the transport's thread: what expires does so by somebody's clock (R2).
extension RequestCore {
    private var jar: CookieJar? { context.configuration.cookieJar }

    func cookies(for url: RequestURL) -> String? { jar?.header(for: url, askedBy: id) }

    /// Whether the jar has to keep a cookie of the hop, or is asked for the next hop's.
    func needsJar(after hop: Hop?) -> Bool {
        guard let hop, let head = hop.head,
            head["Set-Cookie"] != nil || HopPolicy.isAnswered(head, to: hop.request)
        else { return false }
        return jar != nil && hop.request.options.usesCookieJar != false
    }

    /// Keeps what a hop has set, before another hop is built, or somebody is given the response.
    func keepCookies(of outcome: HopOutcome) {
        guard let jar, let hop = outcome.hop, let head = hop.head, head["Set-Cookie"] != nil else { return }
        jar.store(head, from: hop.request.url)
    }
}
