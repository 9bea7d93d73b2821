/// A name and its password: given to a request by `authenticate`, and to a server that asks for them.
///
/// No description of it shows either.
public struct Credential: Hashable, Sendable {
    public let username: String
    public let password: String

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

/// A credential with a request, and who may be given it: one reference, so that requests without one pay for nothing.
package final class Authentication: Hashable, Sendable {
    private let credential: Credential
    private let isPreemptive: Bool
    /// Where the attempt began; nil before it did.
    private let origin: RequestURL.Origin?

    package init(_ credential: Credential, isPreemptive: Bool, for origin: RequestURL.Origin? = nil) {
        self.credential = credential
        self.isPreemptive = isPreemptive
        self.origin = origin
    }

    /// Goes along with the attempt's request, unless that says itself who sends it.
    package func join(_ request: inout OutgoingRequest) throws(RequestError) {
        guard request.headers["Authorization"] == nil else { return }
        let field = try credential.basicField()
        request.options.authentication = Authentication(
            credential, isPreemptive: isPreemptive, for: request.url.origin)
        if isPreemptive { request.headers.add(field) }
    }

    /// The field that answers a challenge of this head to this request; nil if nothing is to be answered.
    func answer(to head: ResponseHead, of request: OutgoingRequest) -> HTTPHeader? {
        guard request.headers["Authorization"] == nil, request.body.isReplayable, request.url.origin == origin
        else { return nil }
        let challenges = AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))
        return challenges.contains { $0.isScheme("Basic") } ? try? credential.basicField() : nil
    }

    package static func == (lhs: Authentication, rhs: Authentication) -> Bool {
        (lhs.credential, lhs.isPreemptive, lhs.origin) == (rhs.credential, rhs.isPreemptive, rhs.origin)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(credential)
        hasher.combine(isPreemptive)
        hasher.combine(origin)
    }
}
