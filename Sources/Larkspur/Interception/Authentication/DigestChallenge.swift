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
    private init?(_ parameters: [String: String]) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"], !nonce.isEmpty,
            let algorithm = Algorithm(parameters["algorithm"])
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = parameters["opaque"]
        let offers = parameters["qop"]?.split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces).lowercased()
        }
        protections = Set((offers ?? []).compactMap(Protection.init))
        guard offers == nil || !protections.isEmpty else { return nil }
        isStale = parameters["stale"]?.lowercased() == "true"
        hidesUser = parameters["userhash"]?.lowercased() == "true"
    }

    /// The challenge with the strongest hash, the first of several.
    static func strongest(in head: ResponseHead) -> DigestChallenge? {
        let challenges = head.values(for: "WWW-Authenticate").flatMap { AuthenticationFields.parse($0) }
            .filter { $0.scheme == "digest" }.compactMap { DigestChallenge($0.parameters) }
        let strongest = challenges.map(\.algorithm.strength).max()
        return challenges.first { $0.algorithm.strength == strongest }
    }
}

/// Reads a `WWW-Authenticate` or `Authorization` field: schemes, each with parameters (RFC 9110, section 11).
///
/// It takes what servers send: whatever makes no sense is passed over, and never read as another challenge's.
struct AuthenticationFields {
    /// Scheme and names of parameters are in lower case; of a parameter that comes twice the first counts.
    typealias Challenge = (scheme: String, parameters: [String: String])

    private var rest: Substring.UnicodeScalarView

    static func parse(_ field: String) -> [Challenge] {
        var fields = AuthenticationFields(rest: field[...].unicodeScalars)
        var challenges: [Challenge] = []
        while fields.skipSeparators() {
            guard let word = fields.word() else {
                fields.rest.removeFirst()
                continue
            }
            fields.skip { $0 == " " || $0 == "\t" }
            guard fields.rest.first == "=" else {
                challenges.append((word.lowercased(), [:]))
                continue
            }
            fields.rest.removeFirst()
            let value = fields.value()
            guard !challenges.isEmpty, let value else { continue }  // without a value it is a token, not a parameter
            let name = word.lowercased()
            if challenges[challenges.count - 1].parameters[name] == nil {
                challenges[challenges.count - 1].parameters[name] = value
            }
        }
        return challenges
    }

    /// Whether something is left.
    private mutating func skipSeparators() -> Bool {
        skip { $0 == " " || $0 == "\t" || $0 == "," }
        return !rest.isEmpty
    }

    private mutating func skip(_ isSkipped: (Unicode.Scalar) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    private mutating func word() -> String? {
        let word = rest.prefix { !" \t,=\"".unicodeScalars.contains($0) }
        rest = rest[word.endIndex...]
        return word.isEmpty ? nil : String(word)
    }

    private mutating func value() -> String? {
        skip { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else {
            defer { skip { $0 == "=" } }
            return word()
        }
        rest.removeFirst()
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst(), scalar != "\"" {
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            if let escaped = rest.popFirst() { text.append(escaped) }
        }
        return String(text)
    }
}
