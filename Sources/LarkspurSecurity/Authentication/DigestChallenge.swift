/// A challenge of the Digest scheme (RFC 7616, section 3.3).
struct DigestChallenge: Sendable, Hashable {
    struct Algorithm: Sendable, Hashable {
        /// The supported algorithms, the weakest first.
        private static let known: [(name: String, hash: StreamingHash.Algorithm)] = [
            ("MD5", .md5), ("SHA-256", .sha256), ("SHA-512-256", .sha512Half),
        ]

        static var strengths: Range<Int> { known.indices }

        let strength: Int
        /// Whether the algorithm is a `-sess` variant, which also hashes the nonces into the secret.
        let isSession: Bool

        /// Creates an algorithm from its name in a challenge. A challenge without a name means MD5, as in RFC 2069.
        /// Returns nil if the algorithm is not supported.
        init?(_ name: String?) {
            let name = name?.uppercased() ?? "MD5"
            isSession = name.hasSuffix("-SESS")
            let hash = isSession ? String(name.dropLast(5)) : name
            guard let strength = Self.known.firstIndex(where: { $0.name == hash }) else { return nil }
            self.strength = strength
        }

        var hash: StreamingHash.Algorithm { Self.known[strength].hash }
        var name: String { Self.known[strength].name + (isSession ? "-sess" : "") }
    }

    /// The part of a request that the Digest response covers (`qop`).
    enum Protection: String, Sendable {
        /// The method and the target.
        case head = "auth"
        /// The method, the target and the body.
        case whole = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: Algorithm
    /// Whether the challenge has the parameter `algorithm`. If not, the response omits the parameter too, because old
    /// servers reject a parameter that their challenge does not have.
    let namesAlgorithm: Bool
    /// The `qop` values of the challenge that are supported; empty for a challenge of RFC 2069, which has no `qop`.
    let protections: Set<Protection>
    let isStale: Bool
    let hidesUser: Bool

    /// Creates a challenge from its parameters. Returns nil if a required parameter is missing or has control
    /// characters, or if the algorithm or all offered `qop` values are not supported.
    private init?(_ parameters: AuthenticationChallenge) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"], !nonce.isEmpty,
            let algorithm = Algorithm(parameters["algorithm"]),
            // The response repeats these texts in a header field, which must not contain control characters.
            ![realm, nonce, parameters["opaque"] ?? ""].contains(where: Self.hasControls)
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        namesAlgorithm = parameters["algorithm"] != nil
        opaque = parameters["opaque"]
        let offers = parameters["qop"]?.lowercased().listed
        protections = Set((offers ?? []).compactMap(Protection.init))
        guard offers == nil || !protections.isEmpty else { return nil }
        isStale = parameters["stale"]?.lowercased() == "true"
        hidesUser = parameters["userhash"]?.lowercased() == "true"
    }

    private static func hasControls(_ text: String) -> Bool { text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

    /// Returns the supported challenge with the strongest hash. If several challenges have this hash, returns the first
    /// of them.
    static func strongest(in head: ResponseHead) -> DigestChallenge? {
        answerable(AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))).first
    }

    /// Returns the supported Digest challenges, the strongest hash first. Challenges with the same hash keep the
    /// server's order.
    static func answerable(_ challenges: [AuthenticationChallenge]) -> [DigestChallenge] {
        let known = challenges.filter { $0.isScheme("Digest") }.compactMap { DigestChallenge($0) }
        return Algorithm.strengths.reversed().flatMap { strength in
            known.filter { $0.algorithm.strength == strength }
        }
    }
}
