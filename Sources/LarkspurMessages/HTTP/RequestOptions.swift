/// The settings of a single request. They are not part of the HTTP message.
public struct RequestOptions: Sendable, Hashable {
    /// A policy for redirects.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Redirects: Sendable, Hashable {
        /// Follows redirects. The limit is the maximum number of redirects in one attempt.
        case follow(limit: Int)
        /// Delivers the redirect as the response.
        case deliver
    }

    /// The policy for redirects. Nil uses the session's policy, whose default is to follow up to 20 redirects.
    public var redirects: Redirects?

    /// Whether a redirect may lead from https to http. Nil uses the session's option, whose default is false.
    public var allowsInsecureRedirects: Bool?

    /// The time limits of the request, its attempts and their hops. A request starts with the limits of its session.
    /// Setting one limit keeps the others. In a complete request or an ``Endpoint``, a limit with its default value
    /// counts as not set, so that the session's limit applies.
    public var timeouts: RequestTimeouts {
        @inlinable get { ownTimeouts ?? RequestTimeouts() }
        set { ownTimeouts = newValue }
    }
    @usableFromInline private(set) var ownTimeouts: RequestTimeouts?

    /// The version of HTTP. Nil uses the session's option, whose default is to negotiate the version.
    public var httpVersion: HTTPVersionChoice?

    /// The size in bytes from which a body is sent with `Expect: 100-continue`. The client then sends the body only
    /// after the server has answered or a second has passed. A body of unknown length always exceeds the size. Nil uses
    /// the session's option, whose default is never to send the field.
    ///
    /// The field avoids sending a large body that the server would reject, but costs a round trip for all other bodies.
    public var expectsContinueFrom: UInt64?

    /// Whether a GET may have a body. Nil uses the session's option, whose default is false.
    ///
    /// In HTTP such a body has no meaning. Many servers drop it, some reject it, and most often it is a mistake.
    public var allowsBodyInGET: Bool?

    /// Whether bodies with a content coding (gzip, deflate, br, zstd, or several of them) are decoded. Nil uses the
    /// session's option, whose default is true.
    ///
    /// If the option is false, bodies are delivered as the server sent them, and the request's `Accept-Encoding` is
    /// `identity`. A part of a body (206) is never decoded, because it is not a complete coded stream.
    public var decodesContent: Bool?

    /// The limits for decoding a body. Nil uses the session's limits, whose default is ``DecodingLimits/init()``.
    public var decodingLimits: DecodingLimits?

    /// The maximum size of a response body in bytes, before decoding. Nil uses the session's limit. The default of the
    /// session's limit is 2 GiB for bodies in memory, and no limit for others.
    ///
    /// A larger body fails with `.contentTooLarge`. It fails at once if the response head contains the length, and
    /// otherwise at the first byte beyond the limit.
    public var maximumBodySize: UInt64?

    /// Whether the request sends the cookies of the session's jar, and the jar stores the cookies of the response. Nil
    /// uses the session's option, whose default is true if the session has a jar. A request's own `Cookie` field is
    /// sent unchanged, without cookies of the jar.
    public var usesCookieJar: Bool?

    /// Whether the session's credentials are used: its ``CredentialStore`` answers challenges, and an
    /// ``AuthenticationInterceptor`` adds its credential. Nil uses the session's option, whose default is true. Use
    /// false for requests that obtain a credential, such as a login.
    public var usesCredentials: Bool?

    /// The use of the session's cache. Nil uses the session's option, whose default is `.protocol`.
    public var cachePolicy: CachePolicy?

    /// The priority where requests wait for a limit. Nil uses the session's option, whose default is `.normal`.
    public var priority: RequestPriority?

    /// The names of header fields with secrets whose names do not say so. A redirect to another origin does not send
    /// these fields, and descriptions hide their values. Fields that ``Redaction/standard`` hides, such as
    /// `Authorization`, `Cookie` and `X-API-Key`, need no entry. The session's list is added to this list.
    ///
    /// A field with `isSecret` is treated in the same way, and needs no entry.
    public var confidentialHeaders: [String] = []

    /// The names of query items whose values are hidden in descriptions, logs and cURL commands, in addition to the
    /// names that ``Redaction`` knows. The session's list is added to this list.
    public var confidentialQueryItems: [String] = []

    /// The options that modules add.
    package var added = AddedOptions()

    /// The means to answer challenges. Each attempt sets the responder that the request itself has. Otherwise each hop
    /// may get one from a participant of the session.
    package var responder: (any ChallengeResponder)? {
        get { comparableResponder?.base }
        set { comparableResponder = newValue.map(ComparableResponder.init) }
    }
    private var comparableResponder: ComparableResponder?

    /// The range that a resumed download requests. Each attempt computes the range from the partial file.
    package var resumption: Resumption?

    /// The protocol to switch to after the response's head (T26 in `Transport`). Each attempt of a WebSocket sets it.
    package var upgrade: ProtocolUpgrade?

    package mutating func addMissing(from session: RequestOptions) {
        redirects = redirects ?? session.redirects
        allowsInsecureRedirects = allowsInsecureRedirects ?? session.allowsInsecureRedirects
        expectsContinueFrom = expectsContinueFrom ?? session.expectsContinueFrom
        allowsBodyInGET = allowsBodyInGET ?? session.allowsBodyInGET
        if let theirs = session.ownTimeouts { ownTimeouts = ownTimeouts?.filled(from: theirs) ?? theirs }
        (httpVersion, usesCookieJar) = (httpVersion ?? session.httpVersion, usesCookieJar ?? session.usesCookieJar)
        usesCredentials = usesCredentials ?? session.usesCredentials
        decodesContent = decodesContent ?? session.decodesContent
        decodingLimits = decodingLimits ?? session.decodingLimits
        maximumBodySize = maximumBodySize ?? session.maximumBodySize
        (cachePolicy, priority) = (cachePolicy ?? session.cachePolicy, priority ?? session.priority)
        added.addMissing(from: session.added)
        let (known, items) = (confidentialHeaders, confidentialQueryItems)
        confidentialHeaders += session.confidentialHeaders.filter { !known.contains($0) }
        confidentialQueryItems += session.confidentialQueryItems.filter { !items.contains($0) }
    }

    /// Creates the default options.
    public init() {}
}
