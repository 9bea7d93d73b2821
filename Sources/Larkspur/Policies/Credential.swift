/// A name and its password: given to a request by `authenticate`, and to a server that asks for them.
///
/// No description of it shows either.
public struct Credential: Hashable, Sendable {
    /// The user's name, as its scheme takes it: Basic has no colon in it.
    public let username: String
    /// The user's password.
    public let password: String

    /// A user's name and password.
    public init(username: String, password: String) {
        self.username = username
        self.password = password
    }
}

extension Credential {
    /// The field of the scheme Basic (RFC 7617, section 2): the name ends with the first colon.
    func basicField() throws(RequestError) -> HTTPHeader {
        guard !username.utf8.contains(UInt8(ascii: ":")) else {
            throw RequestError(.invalidCredential, "the user name has a colon, which Basic cannot tell from its end")
        }
        guard !(username + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw RequestError(.invalidCredential, "the user name or the password has a line end or control character")
        }
        return .authorization(username: username, password: password)
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "Credential(\(Redaction.replacement))" }
    public var debugDescription: String { description }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension Request {
    /// Answers a server that asks who is there, with a name and its password: see ``authenticate(with:preemptively:)``.
    @discardableResult
    public func authenticate(username: String, password: String, preemptively: Bool = false) -> Self {
        authenticate(with: Credential(username: username, password: password), preemptively: preemptively)
    }

    /// Answers a server that asks who is there.
    ///
    ///     let secret = await session.request(url).authenticate(with: credential).validate().serializingData()
    ///
    /// A 401 that offers the scheme Basic has the request sent once more, with the credential, if its body can be had
    /// again; the 401 reaches nobody then. A 401 to the credential itself is the answer. Only the origin that the attempt
    /// began with is given it, and a redirect to another one leaves it behind. An `Authorization` field that the
    /// request, an adapter or the session has set stands, as do user and password in the URL.
    ///
    /// Each attempt begins without the credential, and a request that is under way takes notice with its next one.
    ///
    /// - Parameter preemptively: Sends it without being asked, which spares a round trip.
    @discardableResult
    public func authenticate(with credential: Credential, preemptively: Bool = false) -> Self {
        handle.core.set("credential", of: self) {
            $0.authentication = Authentication(credential, isPreemptive: preemptively)
        }
        return self
    }
}

/// The credentials that a request may answer challenges with, and who may be given them: one reference, so that requests
/// without any pay for nothing.
package final class Authentication: Hashable, Sendable {
    private enum Place: Hashable {
        /// A request's own credential is for the origin that the attempt began with.
        case origin(RequestURL.Origin)
        /// The session's are looked up for the URL of each hop.
        case hop(RequestURL)
    }

    private struct Content: Hashable {
        /// By realm; nil is for those that are not named.
        var credentials: [String?: Credential]
        var isPreemptive = false
        /// Nil before the attempt began.
        var place: Place?
        /// What was sent so far to where the request goes, the last of them with it.
        var tried: [Credential] = []
    }

    private let content: Content

    private init(_ content: Content) { self.content = content }

    package convenience init(_ credential: Credential, isPreemptive: Bool) {
        self.init(Content(credentials: [nil: credential], isPreemptive: isPreemptive))
    }

    /// The session's credentials for a URL, by realm, and the one that was accepted there.
    convenience init(_ credentials: [String?: Credential], for url: RequestURL, accepted: Credential?) {
        self.init(Content(credentials: credentials, place: .hop(url), tried: accepted.map { [$0] } ?? []))
    }

    /// Goes along with the attempt's request, unless that says itself who sends it.
    package func join(_ request: inout OutgoingRequest) throws(RequestError) {
        guard request.headers["Authorization"] == nil, let credential = content.credentials[nil] else { return }
        let field = try credential.basicField()
        var joined = content
        joined.place = .origin(request.url.origin)
        if content.isPreemptive {
            joined.tried = [credential]
            request.headers.add(field)
        }
        request.options.authentication = Authentication(joined)
    }

    /// The request that answers a challenge of this head to this one; nil if nothing is to be answered.
    ///
    /// No credential is sent twice to the same place, so a challenge to the last of them is delivered.
    func answer(to head: ResponseHead, of request: OutgoingRequest) -> OutgoingRequest? {
        let sent = request.headers["Authorization"]
        guard sent == nil || sent == field?.value, request.body.isReplayable, request.url.origin == origin
        else { return nil }
        let tried = sent == nil ? [] : content.tried
        for challenge in AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))
        where challenge.isScheme("Basic") {
            let known = challenge["realm"].flatMap { content.credentials[$0] } ?? content.credentials[nil]
            guard let known, !tried.contains(known), let field = try? known.basicField() else { continue }
            var next = request
            next.headers.update(field)
            var answered = content
            answered.tried = tried + [known]
            next.options.authentication = Authentication(answered)
            return next
        }
        return nil
    }

    private var origin: RequestURL.Origin? {
        switch content.place {
        case .origin(let origin): origin
        case .hop(let url): url.origin
        case nil: nil
        }
    }

    /// The URL of the hop that the session's credentials were looked up for; nil for a request's own.
    var hop: RequestURL? {
        guard case .hop(let url) = content.place else { return nil }
        return url
    }

    /// The last one that was sent.
    var field: HTTPHeader? { try? content.tried.last?.basicField() }

    /// The session's credential that went with a request.
    func sessionCredential(in request: OutgoingRequest) -> Credential? {
        guard hop != nil, let field, request.headers["Authorization"] == field.value else { return nil }
        return content.tried.last
    }

    package static func == (lhs: Authentication, rhs: Authentication) -> Bool { lhs.content == rhs.content }

    package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}
