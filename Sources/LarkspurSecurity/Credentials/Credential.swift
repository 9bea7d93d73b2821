/// A user's name and password, for servers that ask for them.
///
/// The descriptions of a credential show neither the name nor the password.
public struct Credential: Hashable, Sendable {
    /// The user's name. The Basic scheme allows no colon in it.
    public let username: String
    /// The user's password.
    public let password: String

    /// Creates a credential from a user's name and password.
    public init(username: String, password: String) {
        self.username = username
        self.password = password
    }
}

extension Credential {
    /// Returns the `Authorization` field of the Basic scheme (RFC 7617, section 2). Throws for a user's name with a
    /// colon, because the first colon in the field ends the name, and for control characters.
    func basicField() throws(RequestError) -> HTTPHeader {
        guard !username.utf8.contains(UInt8(ascii: ":")) else {
            throw RequestError(.invalidCredential, "the user name has a colon, which the Basic scheme does not allow")
        }
        guard !(username + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw RequestError(
                .invalidCredential, "the user name or the password has a line break or control character")
        }
        return .authorization(username: username, password: password)
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "Credential(\(Redaction.replacement))" }
    public var debugDescription: String { description }
    /// A mirror without children, because the stored properties contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension Request {
    /// Sets the name and password for a server that asks for them: see ``authenticate(with:preemptively:)``.
    @discardableResult
    public func authenticate(username: String, password: String, preemptively: Bool = false) -> Self {
        authenticate(with: Credential(username: username, password: password), preemptively: preemptively)
    }

    /// Sets the credential for a server that asks for one. For all requests of a session, use a ``CredentialStore``.
    ///
    ///     let secret = await session.request(url).authenticate(with: credential).validate().serializingData()
    ///
    /// If a 401 offers Digest or Basic, and the request's body can be sent twice, the request is sent once more with
    /// the credential. Interceptors, validators and serializers do not see that 401. The strongest scheme is used:
    /// Digest with SHA-512-256, SHA-256 or MD5, and Basic last. Over `http`, Basic is not used if the server also
    /// offers Digest.
    ///
    /// If the server also refuses the request with the credential, this second 401 is the final response. There is one
    /// exception: if the server says that the Digest nonce is stale, the request is sent once more with the new nonce.
    ///
    /// The credential is only for the origin at the start of the attempt; a redirect to another origin removes it. Two
    /// things take precedence over the credential: an `Authorization` field that the request, an adapter or the session
    /// has set, and user and password in the URL.
    ///
    /// Each attempt starts without the credential, unless `preemptively` is true. If the request is already running,
    /// the credential is used from the next attempt on.
    ///
    /// - Parameters:
    ///   - credential: The user's name and password.
    ///   - preemptively: Whether the credential is sent by Basic before the server asks, which saves a round trip;
    ///     false by default.
    @discardableResult
    public func authenticate(with credential: Credential, preemptively: Bool = false) -> Self {
        handle.core.setResponder(Authentication(credential, isPreemptive: preemptively))
        return self
    }
}
