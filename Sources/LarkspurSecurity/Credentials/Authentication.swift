/// The credentials with which a request responds to challenges, and the origin or URL for which they are valid.
///
/// The type is a class, because most requests have no credentials: their options then contain only a null pointer.
package final class Authentication: ChallengeResponder, Hashable {
    private enum Target: Hashable {
        /// The origin at the start of the attempt, for a credential that was set on the request.
        case origin(RequestURL.Origin)
        /// The URL of a hop, for credentials from the session's store. The store is searched for each hop.
        case hop(RequestURL)
    }

    private struct Content: Hashable {
        /// The credentials by realm; the key nil is for all other realms.
        var credentials: [String?: Credential]
        var isPreemptive = false
        /// Nil before the attempt starts.
        var target: Target?
        /// The proofs that were sent so far. The last one is the proof that this request sends.
        var tried: [CredentialProof] = []
        /// The `Authorization` field that was sent last. `subject` is the method and target for which the field was
        /// computed.
        var field: String?
        var subject = ""
    }

    private let content: Content

    private init(_ content: Content) { self.content = content }

    package convenience init(_ credential: Credential, isPreemptive: Bool) {
        self.init(Content(credentials: [nil: credential], isPreemptive: isPreemptive))
    }

    /// Creates the session's credentials for a URL.
    ///
    /// - Parameters:
    ///   - credentials: The credentials by realm; the key nil is for all other realms.
    ///   - url: The URL of the hop.
    ///   - accepted: The proof to send at once, because the server has accepted it there before or the credential is
    ///     preemptive; nil if there is none.
    convenience init(_ credentials: [String?: Credential], for url: RequestURL, accepted: CredentialProof?) {
        self.init(Content(credentials: credentials, target: .hop(url), tried: accepted.map { [$0.asEarlier] } ?? []))
    }

    /// Adds these credentials to the attempt's request, unless the request already has an `Authorization` field.
    package func join(_ request: inout OutgoingRequest) throws(RequestError) {
        guard request.headers["Authorization"] == nil, let credential = content.credentials[nil] else { return }
        let field = try credential.basicField()
        var joined = content
        joined.target = .origin(request.url.origin)
        if content.isPreemptive {
            joined.tried = [CredentialProof(credential, .basic)]
            joined.field = field.value
            request.headers.add(field)
        }
        request.options.responder = Authentication(joined)
    }

    /// Returns the request that responds to a challenge in this head; nil if no response is possible. With Basic, the
    /// returned request already has the `Authorization` field. With Digest, the field is added when the hop begins: see
    /// ``OutgoingRequest/proveCredential()``.
    package func answer(to head: ResponseHead, of request: OutgoingRequest) -> OutgoingRequest? {
        let sent = request.headers["Authorization"]
        guard sent == nil || sent == content.field, request.body.isReplayable, request.url.origin == origin,
            let proof = proof(for: head, to: request, after: sent == nil ? [] : content.tried)
        else { return nil }
        var next = request
        next.headers.remove(name: "Authorization")
        var answered = content
        answered.tried = (sent == nil ? [] : content.tried) + [proof]
        answered.field = nil
        next.options.responder = Authentication(answered)
        if proof.scheme == .basic { next.proveCredential() }
        return next
    }

    /// Returns the strongest proof that the head asks for and that the server has not refused yet.
    private func proof(
        for head: ResponseHead, to request: OutgoingRequest, after tried: [CredentialProof]
    ) -> CredentialProof? {
        let challenges = AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))
        for challenge in DigestChallenge.answerable(challenges) {
            guard let known = credential(for: challenge.realm), challenge.canProtect(request),
                CredentialProof.mayAnswer(challenge, by: known, after: tried)
            else { continue }
            return CredentialProof(known, .digest(SharedDigestChallenge(challenge)))
        }
        // Over http, do not use Basic if the server also accepts Digest. Basic would show the password on the
        // unencrypted connection, Digest does not.
        guard request.url.isHTTPS || !challenges.contains(where: { $0.isScheme("Digest") }) else { return nil }
        for challenge in challenges where challenge.isScheme("Basic") {
            guard let known = credential(for: challenge["realm"]), !tried.contains(where: { $0.credential == known })
            else { continue }
            return CredentialProof(known, .basic)
        }
        return nil
    }

    private func credential(for realm: String?) -> Credential? {
        realm.flatMap { content.credentials[$0] } ?? content.credentials[nil]
    }

    private var origin: RequestURL.Origin? {
        switch content.target {
        case .origin(let origin): origin
        case .hop(let url): url.origin
        case nil: nil
        }
    }

    /// The URL of the hop that the session's credentials were looked up for; nil for a request's own credential.
    var hop: RequestURL? {
        guard case .hop(let url) = content.target else { return nil }
        return url
    }

    /// Adds the `Authorization` field for the last proof, unless the request already has the field or a redirect has
    /// removed it.
    package func prove(in request: inout OutgoingRequest) {
        guard let proof = content.tried.last, request.url.origin == origin else { return }
        let sent = request.headers["Authorization"]
        let subject = "\(request.method.rawValue) \(request.url.target)"
        let isAnswerToOther = proof.scheme != .basic && content.subject != subject
        guard content.field == nil ? sent == nil : sent == content.field && isAnswerToOther,
            let field = proof.field(for: request)
        else { return }
        var proved = content
        (proved.field, proved.subject) = (field.value, subject)
        request.headers.update(field)
        request.options.responder = Authentication(proved)
    }

    /// Returns the proof that the request was sent with; nil unless its credential is one of the session's credentials.
    func sessionProof(in request: OutgoingRequest) -> CredentialProof? {
        guard hop != nil, let field = content.field, request.headers["Authorization"] == field else { return nil }
        return content.tried.last
    }

    package func isEqual(to other: any ChallengeResponder) -> Bool { (other as? Authentication) == self }

    package static func == (lhs: Authentication, rhs: Authentication) -> Bool { lhs.content == rhs.content }

    package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

extension Authentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "Authentication(\(Redaction.replacement))" }
    package var debugDescription: String { description }
    /// A mirror without children, because the stored properties contain secrets.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
