/// What a server wants to be answered by the Digest scheme (RFC 7616, section 3.3).
struct DigestChallenge: Sendable, Hashable {
    struct Algorithm: Sendable, Hashable {
        /// The weakest first.
        private static let known: [(name: String, hash: StreamingHash.Algorithm)] = [
            ("MD5", .md5), ("SHA-256", .sha256), ("SHA-512-256", .sha512Half),
        ]

        static var strengths: Range<Int> { known.indices }

        let strength: Int
        /// Whether the secret is hashed once more with the nonces of the first request.
        let isSession: Bool

        /// By the name that a server calls it; MD5 has none in old challenges.
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

    /// What of a request is protected.
    enum Protection: String, Sendable {
        /// Method and target.
        case head = "auth"
        /// The body, too.
        case whole = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: Algorithm
    /// Whether the server names its algorithm. Old servers refuse an answer that names one although they did not.
    let namesAlgorithm: Bool
    /// What the server offers; empty in old challenges, which know no choice.
    let protections: Set<Protection>
    let isStale: Bool
    let hidesUser: Bool

    /// Nil if it cannot be answered: because something is missing, or nothing that is offered is known here.
    private init?(_ parameters: AuthenticationChallenge) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"], !nonce.isEmpty,
            let algorithm = Algorithm(parameters["algorithm"]),
            // The answer repeats these texts in a field, which has no room for control characters.
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

    /// The challenge with the strongest hash, the first of several.
    static func strongest(in head: ResponseHead) -> DigestChallenge? {
        answerable(AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))).first
    }

    /// The Digest challenges that can be answered: those with the strongest hash first, else in the server's order.
    static func answerable(_ challenges: [AuthenticationChallenge]) -> [DigestChallenge] {
        let known = challenges.filter { $0.isScheme("Digest") }.compactMap { DigestChallenge($0) }
        return Algorithm.strengths.reversed().flatMap { strength in
            known.filter { $0.algorithm.strength == strength }
        }
    }
}
