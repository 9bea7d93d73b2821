/// The credentials that a request may answer challenges with, and the place that they are for: one reference, so that
/// requests without credentials carry one pointer.
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
        /// The proofs that this place was given, the last of them with the request.
        var tried: [CredentialProof] = []
        /// The `Authorization` field that was sent last, and the method and target that it is for.
        var field: String?
        var subject = ""
    }

    private let content: Content

    private init(_ content: Content) { self.content = content }

    package convenience init(_ credential: Credential, isPreemptive: Bool) {
        self.init(Content(credentials: [nil: credential], isPreemptive: isPreemptive))
    }

    /// The session's credentials for a URL, by realm, and the proof that was accepted there.
    convenience init(_ credentials: [String?: Credential], for url: RequestURL, accepted: CredentialProof?) {
        self.init(Content(credentials: credentials, place: .hop(url), tried: accepted.map { [$0.asEarlier] } ?? []))
    }

    /// Goes along with the attempt's request, unless that says itself who sends it.
    package func join(_ request: inout OutgoingRequest) throws(RequestError) {
        guard request.headers["Authorization"] == nil, let credential = content.credentials[nil] else { return }
        let field = try credential.basicField()
        var joined = content
        joined.place = .origin(request.url.origin)
        if content.isPreemptive {
            joined.tried = [CredentialProof(credential, .basic)]
            joined.field = field.value
            request.headers.add(field)
        }
        request.options.authentication = Authentication(joined)
    }

    /// The request that answers a challenge of this head to this one; nil if nothing is to be answered. Its field comes with
    /// the hop: see ``OutgoingRequest/proveCredential()``.
    func answer(to head: ResponseHead, of request: OutgoingRequest) -> OutgoingRequest? {
        let sent = request.headers["Authorization"]
        guard sent == nil || sent == content.field, request.body.isReplayable, request.url.origin == origin,
            let proof = proof(for: head, to: request, after: sent == nil ? [] : content.tried)
        else { return nil }
        var next = request
        next.headers.remove(name: "Authorization")
        var answered = content
        answered.tried = (sent == nil ? [] : content.tried) + [proof]
        answered.field = nil
        next.options.authentication = Authentication(answered)
        if proof.scheme == .basic { next.proveCredential() }
        return next
    }

    /// The strongest proof that the head asks for and that was not refused yet.
    private func proof(
        for head: ResponseHead, to request: OutgoingRequest, after tried: [CredentialProof]
    ) -> CredentialProof? {
        let challenges = AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))
        for challenge in DigestChallenge.answerable(challenges) {
            guard let known = credential(for: challenge.realm), challenge.canProtect(request),
                CredentialProof.mayAnswer(challenge, by: known, after: tried)
            else { continue }
            return CredentialProof(known, .digest(DigestSpace(challenge)))
        }
        // Basic would show the password to everyone on the way, although the server accepts an answer that hides it.
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

    /// Puts the last proof into the request, unless it is there already or was taken out by a redirect.
    fileprivate func prove(in request: inout OutgoingRequest) {
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
        request.options.authentication = Authentication(proved)
    }

    /// The proof by a credential of the session's that went with a request.
    func sessionProof(in request: OutgoingRequest) -> CredentialProof? {
        guard hop != nil, let field = content.field, request.headers["Authorization"] == field else { return nil }
        return content.tried.last
    }

    package static func == (lhs: Authentication, rhs: Authentication) -> Bool { lhs.content == rhs.content }

    package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

extension Authentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "Authentication(\(Redaction.replacement))" }
    package var debugDescription: String { description }
    /// Keeps `dump` from showing what the description hides.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension OutgoingRequest {
    /// Adds the `Authorization` field that answers a challenge, made for this method and target.
    mutating func proveCredential() { authentication?.prove(in: &self) }
}
