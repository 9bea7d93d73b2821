/// A credential, with the scheme by which a request sends it to a server.
struct CredentialProof: Hashable, Sendable {
    enum Scheme: Hashable, Sendable {
        case basic
        case digest(SharedDigestChallenge)
    }

    let credential: Credential
    let scheme: Scheme
    /// Whether the proof comes from an earlier exchange, whose Digest nonce this exchange reuses.
    private(set) var isEarlier = false

    init(_ credential: Credential, _ scheme: Scheme) {
        self.credential = credential
        self.scheme = scheme
    }

    var asEarlier: CredentialProof {
        var proof = self
        proof.isEarlier = true
        return proof
    }

    /// Returns whether both proofs have the same credential, scheme and challenge.
    func isSame(as other: CredentialProof) -> Bool { credential == other.credential && scheme == other.scheme }

    private var challenge: DigestChallenge? {
        guard case .digest(let shared) = scheme else { return nil }
        return shared.challenge
    }

    /// Returns whether a request may respond to this Digest challenge with a credential.
    ///
    /// If the server refuses a Digest response, the credential is normally not tried again. There are two exceptions,
    /// each for one more try: the nonce came from an earlier exchange, or the server says that the nonce is stale.
    static func mayAnswer(
        _ challenge: DigestChallenge, by credential: Credential, after tried: [CredentialProof]
    ) -> Bool {
        let answers = tried.filter { $0.credential == credential && $0.challenge != nil }
        guard !answers.contains(where: { $0.challenge?.nonce == challenge.nonce }) else { return false }
        switch answers.count(where: { !$0.isEarlier }) {
        case 0: return true
        case 1: return challenge.isStale
        default: return false
        }
    }

    /// Returns the `Authorization` field for this request; nil if it cannot be computed.
    func field(for request: OutgoingRequest) -> HTTPHeader? {
        switch scheme {
        case .basic: try? credential.basicField()
        case .digest(let shared): shared.field(for: request, by: credential)
        }
    }
}

/// A Digest challenge with its nonce count, shared by all exchanges that use the nonce.
final class SharedDigestChallenge: Hashable, Sendable {
    let challenge: DigestChallenge
    /// The client nonce for all responses to this challenge. For a `-sess` algorithm, some servers use the client nonce
    /// of the first response in their hash, and other servers use that of each response. With the same client nonce in
    /// all responses, both hashes are equal.
    private let clientNonce: String
    private let uses = Protected(0)

    init(_ challenge: DigestChallenge) {
        self.challenge = challenge
        var generator = SystemRandomNumberGenerator()
        clientNonce = (0..<16).map { _ in generator.next() as UInt8 }.hexadecimal
    }

    /// Returns the `Authorization` field with the next nonce count; nil if the response cannot be computed at once.
    fileprivate func field(for request: OutgoingRequest, by credential: Credential) -> HTTPHeader? {
        let protection = challenge.protection
        guard challenge.canProtect(request) else { return nil }
        let count = uses.withLock { uses in
            uses += 1
            return uses
        }
        let answer = DigestAnswer(
            challenge: challenge, protection: protection, method: request.method.rawValue,
            target: String(request.url.target),
            bodyHash: protection == .whole ? request.body.hashInMemory(challenge.algorithm.hash) ?? "" : "",
            clientNonce: clientNonce, count: count)
        return .authorization(answer.field(for: DigestUser(name: credential.username, password: credential.password)))
    }

    static func == (lhs: SharedDigestChallenge, rhs: SharedDigestChallenge) -> Bool { lhs === rhs }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension DigestChallenge {
    /// The part of the request that the Digest response covers. The body is covered only if the server offers nothing
    /// else.
    fileprivate var protection: Protection? {
        protections.contains(.head) ? .head : protections.contains(.whole) ? .whole : nil
    }

    /// Returns whether the Digest response can be computed at once: it does not cover the body, or the body is in
    /// memory.
    func canProtect(_ request: OutgoingRequest) -> Bool {
        guard protection == .whole else { return true }
        switch request.body {
        case .none, .data: return true
        case .file, .stream: return false
        }
    }
}

extension TransportBody {
    /// Returns the hash of a body in memory; nil for any other body.
    fileprivate func hashInMemory(_ algorithm: StreamingHash.Algorithm) -> String? {
        var hash = StreamingHash(algorithm)
        switch self {
        case .none: break
        case .data(let data): data.withUnsafeBytes { hash.update($0) }
        case .file, .stream: return nil
        }
        return hash.finalize().hexadecimal
    }
}
