/// What a server wants to be answered by the Digest scheme (RFC 7616, section 3.3).
struct DigestChallenge: Sendable, Hashable {
    struct Algorithm: Sendable, Hashable {
        let hash: StreamingHash.Algorithm
        /// Whether the secret is hashed once more with the nonces of the first request.
        let isSession: Bool

        /// By the name that a server calls it; MD5 has none in old challenges.
        init?(_ name: String?) {
            let name = name?.lowercased() ?? "md5"
            isSession = name.hasSuffix("-sess")
            switch isSession ? String(name.dropLast(5)) : name {
            case "md5": hash = .md5
            case "sha-256": hash = .sha256
            case "sha-512-256": hash = .sha512Half
            default: return nil
            }
        }

        var name: String {
            let name =
                switch hash {
                case .md5: "MD5"
                case .sha256: "SHA-256"
                case .sha512: "SHA-512"
                case .sha512Half: "SHA-512-256"
                }
            return isSession ? name + "-sess" : name
        }

        var strength: Int { [.md5, .sha256, .sha512Half].firstIndex(of: hash) ?? 0 }
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
    /// What the server offers; empty in old challenges, which know no choice.
    let protections: Set<Protection>
    let isStale: Bool
    let hidesUser: Bool

    /// Nil if it cannot be answered: because something is missing, or nothing that is offered is known here.
    private init?(_ parameters: AuthenticationChallenge) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"], !nonce.isEmpty,
            let algorithm = Algorithm(parameters["algorithm"])
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = parameters["opaque"]
        let offers = parameters["qop"]?.lowercased().listed
        protections = Set((offers ?? []).compactMap(Protection.init))
        guard offers == nil || !protections.isEmpty else { return nil }
        isStale = parameters["stale"]?.lowercased() == "true"
        hidesUser = parameters["userhash"]?.lowercased() == "true"
    }

    /// The challenge with the strongest hash, the first of several.
    static func strongest(in head: ResponseHead) -> DigestChallenge? {
        let challenges = AuthenticationChallenge.parse(head.values(for: "WWW-Authenticate"))
            .filter { $0.isScheme("Digest") }.compactMap { DigestChallenge($0) }
        let strongest = challenges.map(\.algorithm.strength).max()
        return challenges.first { $0.algorithm.strength == strongest }
    }
}
