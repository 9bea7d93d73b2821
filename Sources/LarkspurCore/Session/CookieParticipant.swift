extension SessionConfiguration {
    /// The jar that stores cookies between requests; nil means that the session handles no cookies.
    ///
    /// By default each session gets its own jar in memory, with a copy of this jar's cookies. A jar that is set here is
    /// shared by all sessions with this configuration. A session created by ``Session/extending(_:)`` shares the jar of
    /// the extended session.
    public var cookieJar: CookieJar? {
        get { self[CookieSettings.self].jar }
        set { self[CookieSettings.self] = CookieSettings(jar: newValue, isShared: true) }
    }
}

extension Session {
    /// The jar that stores the session's cookies; nil if the session does not store cookies.
    public nonisolated var cookieJar: CookieJar? { context.configuration.cookieJar }
}

struct CookieSettings: ParticipantSettings {
    var jar: CookieJar? = CookieJar()
    /// Whether sessions share the jar. If not, each session gets its own copy.
    var isShared = false

    static let place = 500

    func participant(
        in configuration: SessionConfiguration, extending parents: [any HopParticipant]
    ) -> (any HopParticipant)? {
        CookieParticipant(jar: jar)
    }

    func forNewSession() -> CookieSettings { isShared ? self : CookieSettings(jar: jar?.copy()) }
}

/// The cookies of a session: each hop sends those of its URL, and each response may set some.
///
/// A session without a jar has the participant too, because a request may come from another session: it must not send
/// that session's cookies.
struct CookieParticipant: SelectiveParticipant {
    let jar: CookieJar?

    static let steps: HopSteps = [.adjusts, .prepares, .learns]

    func adjust(_ redirected: inout OutgoingRequest, of id: RequestID) {
        redirected.renewCookies { jar?.header(for: $0, askedBy: id) }
    }

    func prepare(_ hop: inout OutgoingHop) {
        let id = hop.requestID
        hop.request.renewCookies { jar?.header(for: $0, askedBy: id) }
    }

    /// A clock that is not the system's may be user code, so the jar then learns in the request's task (rule R2 in
    /// Concurrency.md).
    func learnsLater(from hop: Hop) -> Bool {
        guard let jar, let head = hop.head, head["Set-Cookie"] != nil, hop.request.options.usesCookieJar != false
        else { return false }
        guard jar.isOnSystemClock else { return true }
        jar.store(head, from: hop.request.url)
        return false
    }

    func learn(from head: ResponseHead, of hop: HopContext) { jar?.store(head, from: hop.url) }
}

extension OutgoingRequest {
    /// Replaces the jar's cookies of the last hop with the jar's cookies for this request's URL. A `Cookie` field from
    /// the user or an adapter is kept. If a redirect to another origin has removed that field, the request gets the
    /// jar's cookies.
    fileprivate mutating func renewCookies(_ field: (RequestURL) -> String?) {
        let last = cookiesOfJar
        guard last != nil || headers["Cookie"] == nil else { return }
        let next = options.usesCookieJar == false ? nil : field(url)
        if next != last { cookiesOfJar = next }
    }
}
