/// A name and its password: given to a request by `authenticate`, and to a server that asks for them.
///
/// No description of it shows either.
public struct Credential: Hashable, Sendable {
    /// The user's name, without colons, which Basic cannot carry.
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
    /// Answers a server that requests a user name and a password: see ``authenticate(with:preemptively:)``.
    @discardableResult
    public func authenticate(username: String, password: String, preemptively: Bool = false) -> Self {
        authenticate(with: Credential(username: username, password: password), preemptively: preemptively)
    }

    /// Answers a server that requests a user name and a password. For all requests of a session use a
    /// ``CredentialStore``.
    ///
    ///     let secret = await session.request(url).authenticate(with: credential).validate().serializingData()
    ///
    /// A 401 that offers Digest or Basic has the request sent once more, with the credential, if its body can be sent again.
    /// Interceptors, validators and serializers do not see that 401. The strongest scheme answers: Digest with SHA-512-256,
    /// SHA-256 or MD5, and Basic last. Over `http` Basic does not answer a server that offers Digest too. A 401 to the
    /// credential itself is the response; but a Digest nonce that the server calls stale is answered once more.
    ///
    /// The credential goes to the origin that the attempt began with, and a redirect to another origin leaves it behind. An
    /// `Authorization` field that the request, an adapter or the session has set stands, as do user and password in the URL.
    ///
    /// Each attempt begins without the credential. A request that is under way uses the credential from its next attempt on.
    ///
    /// - Parameter preemptively: Sends the credential by Basic before the server asks, which saves a round trip.
    @discardableResult
    public func authenticate(with credential: Credential, preemptively: Bool = false) -> Self {
        handle.core.set("credential") {
            $0.authentication = Authentication(credential, isPreemptive: preemptively)
        }
        return self
    }
}
