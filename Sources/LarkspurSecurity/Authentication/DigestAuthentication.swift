/// An interceptor that authenticates a user by the Digest scheme (RFC 7616), which does not send the password.
///
///     let session = Session(
///         configuration: SessionConfiguration { $0.validation = [.standard] },
///         interceptor: .digest(username: "Mufasa", password: "Circle of Life", for: "https://api.example.com"))
///
/// The server refuses the first request to an origin with a challenge. The interceptor then retries the request with a
/// response to the challenge. Later requests respond to the same challenge at once, each with the next nonce count,
/// until the server sends a new challenge.
///
/// A request is retried once for a new challenge, and again if the server says that the nonce is stale, at most three
/// times in all. The interceptor notices a challenge only if a validator rejects the response.
///
/// The supported algorithms are SHA-512-256, SHA-256 and MD5, in this order of preference, each with its `-sess`
/// variant. Place the interceptor after adapters that change the method, the URL or the body, because the Digest
/// response is computed from these. If a request already has an `Authorization` field, the interceptor does not replace
/// the field.
public final class DigestAuthentication: RequestInterceptor {
    private struct CurrentChallenge {
        let challenge: DigestChallenge
        /// The client nonce for all responses to this challenge. For a `-sess` algorithm, some servers use the client
        /// nonce of the first response in their hash, and other servers use that of each response. With the same client
        /// nonce in all responses, both hashes are equal.
        let clientNonce: String
        var uses = 0
    }

    private static let maximumRetries = 3

    // Immutable
    private let user: DigestUser
    private let scope: CredentialScope
    private let protectsBodies: Bool
    private let makeNonce: @Sendable () -> String

    // Mutable state, guarded by the lock of `Protected`
    private let challenges = Protected<[RequestURL.Origin: CurrentChallenge]>([:])

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - username: The user's name.
    ///   - password: The user's password.
    ///   - scope: The origins that get the credential; all by default.
    ///   - protectsBodies: Whether the Digest response also covers the body, if the server offers that (`auth-int`);
    ///     false by default. If true, each body is read one more time, for its hash. If the server offers only
    ///     `auth-int`, the body is always covered.
    public convenience init(
        username: String, password: String, for scope: CredentialScope = .anywhere, protectsBodies: Bool = false
    ) {
        self.init(DigestUser(name: username, password: password), scope, protectsBodies: protectsBodies) {
            var generator = SystemRandomNumberGenerator()
            return (0..<16).map { _ in generator.next() as UInt8 }.hexadecimal
        }
    }

    init(
        _ user: DigestUser, _ scope: CredentialScope, protectsBodies: Bool, makeNonce: @escaping @Sendable () -> String
    ) {
        self.user = user
        self.scope = scope
        self.protectsBodies = protectsBodies
        self.makeNonce = makeNonce
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        guard try scope.contains(request.url), request.headers["Authorization"] == nil,
            let current = nextUse(of: request.url.origin)
        else { return }
        let protection = protection(of: request, by: current.challenge)
        let answer = DigestAnswer(
            challenge: current.challenge, protection: protection, method: request.method.rawValue,
            target: String(request.url.target),
            bodyHash: protection == .whole ? try await hash(request.body, current.challenge.algorithm.hash) : "",
            clientNonce: current.clientNonce, count: current.uses)
        request.headers.add(.authorization(answer.field(for: user)))
    }

    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        let refused = request.attempts.filter { $0.hops.last?.head?.status == 401 }
        guard error.statusCode == 401, let sent = refused.last?.request, let hop = refused.last?.hops.last,
            hop.request.url.origin == sent.url.origin, (try? scope.contains(sent.url)) == true,
            let challenge = hop.head.flatMap(DigestChallenge.strongest),
            refused.count == 1 || challenge.isStale, refused.count <= Self.maximumRetries
        else { return .doNotRetry }
        let answered = AuthenticationChallenge.parse(refused.compactMap { $0.request?.headers["Authorization"] })
        // Do not replace a credential that another adapter or the caller set. Do not respond twice to the same nonce.
        guard answered.allSatisfy({ $0.isScheme("Digest") && $0["nonce"] != challenge.nonce }) else {
            return .doNotRetry
        }
        let current = CurrentChallenge(challenge: challenge, clientNonce: makeNonce())
        challenges.withLock { challenges in
            // If the server has repeated the stored challenge, keep its nonce count.
            if challenges[sent.url.origin]?.challenge.nonce != challenge.nonce { challenges[sent.url.origin] = current }
        }
        return .retry
    }

    private func nextUse(of origin: RequestURL.Origin) -> CurrentChallenge? {
        challenges.withLock { challenges in
            challenges[origin]?.uses += 1
            return challenges[origin]
        }
    }

    private func protection(of request: OutgoingRequest, by challenge: DigestChallenge) -> DigestChallenge.Protection? {
        let offered = challenge.protections
        if offered.contains(.whole), !offered.contains(.head) || protectsBodies && request.body.isReplayable {
            return .whole
        }
        return offered.contains(.head) ? .head : nil
    }

    private func hash(_ body: TransportBody, _ algorithm: StreamingHash.Algorithm) async throws -> String {
        guard body.isReplayable else {
            throw RequestError(
                .bodyNotReplayable,
                "the server requires a hash of the body in advance, but the body can be read only once")
        }
        var hash = StreamingHash(algorithm)
        try await body.read { hash.update($0) }
        return hash.finalize().hexadecimal
    }
}

extension RequestInterceptor where Self == DigestAuthentication {
    /// Returns an interceptor that authenticates a user by the Digest scheme.
    public static func digest(username: String, password: String, for scope: CredentialScope = .anywhere) -> Self {
        DigestAuthentication(username: username, password: password, for: scope)
    }
}

struct DigestUser: Sendable {
    @Redacted var name: String
    @Redacted var password: String

    /// Creates a user. Names and passwords are hashed in Unicode's composed form (NFC), as RFC 7616, section 4,
    /// requires.
    init(name: String, password: String) {
        self.name = name.composed
        self.password = password.composed
    }
}

/// A request's response to a challenge (RFC 7616, section 3.4).
struct DigestAnswer {
    let challenge: DigestChallenge
    let protection: DigestChallenge.Protection?
    let method: String
    let target: String
    let bodyHash: String
    let clientNonce: String
    let count: Int

    func field(for user: DigestUser) -> String {
        var parts = [
            name(of: user), "realm=\(quoted(challenge.realm))", "nonce=\(quoted(challenge.nonce))",
            "uri=\(quoted(target))", "response=\"\(response(for: user))\"",
        ]
        if challenge.namesAlgorithm { parts.append("algorithm=\(challenge.algorithm.name)") }
        if let protection { parts += ["qop=\(protection.rawValue)", "nc=\(number)"] }
        if protection != nil || challenge.algorithm.isSession { parts.append("cnonce=\"\(clientNonce)\"") }
        if let opaque = challenge.opaque { parts.append("opaque=\(quoted(opaque))") }
        if challenge.hidesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    func response(for user: DigestUser) -> String {
        var secret = hash("\(user.name):\(challenge.realm):\(user.password)")
        if challenge.algorithm.isSession { secret = hash("\(secret):\(challenge.nonce):\(clientNonce)") }
        let asked = hash(protection == .whole ? "\(method):\(target):\(bodyHash)" : "\(method):\(target)")
        guard let protection else { return hash("\(secret):\(challenge.nonce):\(asked)") }
        return hash("\(secret):\(challenge.nonce):\(number):\(clientNonce):\(protection.rawValue):\(asked)")
    }

    private func name(of user: DigestUser) -> String {
        if challenge.hidesUser { return "username=\"\(hash("\(user.name):\(challenge.realm)"))\"" }
        if user.name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return "username=\(quoted(user.name))" }
        return "username*=UTF-8''\(user.name.percentEncoded)"
    }

    /// The nonce count as eight hexadecimal digits.
    private var number: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    private func hash(_ text: String) -> String { StreamingHash.hexadecimal(text, challenge.algorithm.hash) }

    private func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
