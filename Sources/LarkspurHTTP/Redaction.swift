/// Rules for what descriptions, logs and cURL commands hide: the values of header fields, query items, form fields and
/// JSON members whose names mark them as secrets.
///
/// Names are compared without regard to case and separators, and by their parts: `userPassword`, `x-db-pass` and
/// `card[pin]` are secret; `passenger`, `spine` and `token_count` are not.
public struct Redaction: Sendable, Hashable {
    /// The text that takes the place of a secret.
    public static let replacement = "REDACTED"

    /// Names that are secret as a whole or as one component: `code` hides `code` and `form[code]`, not `product_code`.
    public var names: Set<String> {
        didSet {
            names = Set(names.map(Self.normal))
            forget()
        }
    }
    /// Words that make a name secret if they are parts of it: `pin` hides `userPin` and `pin-2`, not `spine`.
    ///
    /// An entry may span several parts: `card number` hides `cardNumber` and `card[number]`.
    public var words: Set<String> {
        didSet {
            words = Set(words.map(Self.normal))
            forget()
        }
    }
    /// Texts that make a name secret wherever they occur in the name, also inside a word: `token` hides `accesstoken`.
    public var fragments: Set<String> {
        didSet {
            fragments = Set(fragments.map(Self.normal))
            memory = RedactionMemory(fragments: FragmentSearch(fragments))
        }
    }
    /// Results that follow from the rules above. A change of a rule replaces it.
    private(set) var memory: RedactionMemory

    /// Creates rules that hide only these names, and the secrets that have a known form, such as JSON web tokens. To
    /// extend the default rules, change a copy of ``standard``.
    public init(names: Set<String> = [], words: Set<String> = [], fragments: Set<String> = []) {
        self.names = Set(names.map(Self.normal))
        self.words = Set(words.map(Self.normal))
        self.fragments = Set(fragments.map(Self.normal))
        memory = RedactionMemory(fragments: FragmentSearch(self.fragments))
    }

    private mutating func forget() { memory = RedactionMemory(fragments: memory.fragments) }

    public static func == (left: Redaction, right: Redaction) -> Bool {
        left.names == right.names && left.words == right.words && left.fragments == right.fragments
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        hasher.combine(words)
        hasher.combine(fragments)
    }

    /// The default rules: names of credentials, sessions, keys, one-time codes, payment cards and signatures.
    public static let standard = Redaction(
        // Frequent words of harmless names, such as `is_private` and `refresh_interval`, are secret only as a whole.
        names: ["code", "key", "private", "recovery", "refresh", "seed", "sid", "tok", "xauth", "xpass"],
        words: ([
            "auth", "cred", "creds", "cvc", "cvn", "otp", "pass", "pin", "psk", "pw", "sig", "ticket", "cardno",
            "cardnum", "ccno", "ccnum", "ccnumber", "dbpass", "dbpw", "oauthverifier", "userpass", "userpw",
        ] as Set).union(words("code", after: qualifiersOfCodes)).union(words("key", after: qualifiersOfKeys))
            .union(furtherWords),
        fragments: [
            "accesskey", "apikey", "appkey", "applicationkey", "assertion", "authentic", "authkey", "authorization",
            "cardnumber", "codeverifier", "consumerkey", "cookie", "creditcard", "credential", "csrf", "customerkey",
            "cvv", "encryptionkey", "functionskey", "hmac", "jwt", "kennwort", "masterkey", "passcode", "passkey",
            "passphrase", "password", "passwd", "passwort", "privatekey", "pswd", "pwd", "samlresponse", "secret",
            "sessid", "session", "sharedkey",
            "signature", "signingkey", "subscriptionkey", "token", "totp", "vault", "xsrf",
        ])

    /// Words that are not fragments, because they occur in other words: `dpop` in `ad_popup`.
    private static let furtherWords: Set = [
        "accesstok", "authtok", "bearer", "clientprincipal", "dpop", "iban", "idtok", "keypairid", "masterseed",
        "mnemonic", "nonce", "passw", "pat", "pem", "recoveryanswer", "recoveryphrase", "refreshtok", "securityanswer",
        "seedphrase", "seedwords", "socialsecurity", "ssn", "userpassw", "usertok", "walletseed",
    ]
    /// Words that make a following `code` or `key` secret: `otp_code` is secret, `product_code` is not.
    private static let qualifiersOfCodes = [
        "2fa", "access", "activation", "auth", "authentication", "authorization", "backup", "card", "confirm",
        "confirmation", "device", "login", "mfa", "onetime", "otp", "pin", "recovery", "reset", "security", "signin",
        "sms", "tfa", "twofactor", "user", "verification", "verify",
    ]
    private static let qualifiersOfKeys = [
        "account", "admin", "aes", "auth", "client", "crypto", "decryption", "deploy", "device", "host", "licence",
        "license", "merchant", "partner", "preshared", "recovery", "rsa", "security", "server", "service", "sign",
        "ssh", "ssl", "storage", "tls", "user", "webhook", "write",
    ]

    private static func words(_ word: String, after qualifiers: [String]) -> Set<String> {
        Set(qualifiers.flatMap { [$0 + word, $0 + word + "s"] })
    }

    /// Rules that hide nothing.
    public static let none = Redaction()

    /// Returns whether the values of fields or members with this name are hidden.
    public func hides(_ name: String) -> Bool {
        !isNone && verdict(of: name) != .visible
    }

    private static func normal(_ text: String) -> String {
        text.lowercased().filter { $0.isLetter || $0.isNumber }
    }
}

extension Redaction {
    /// Returns whether a request field with this name tells who the user is: whether logs hide it, or it proves the
    /// possession of the user's key. Such fields are for one origin, and responses to them are for one user.
    package static func isCredential(_ name: String) -> Bool {
        name.utf8.count == 4 && HTTPHeaders.areEqual(name, "DPoP") || standard.hides(name)
    }

    package var isNone: Bool { names.isEmpty && words.isEmpty && fragments.isEmpty }

    /// Returns these rules, extended by further names. Rules that hide nothing stay unchanged.
    package func hiding(_ more: [String]) -> Redaction {
        if isNone || more.isEmpty { return self }
        return memory.extended(by: more) {
            var redaction = self
            redaction.names.formUnion(more)
            return redaction
        }
    }

    /// Returns whether the value of a JSON member with this name is hidden.
    ///
    /// `parent` is the name of the member whose value is the enclosing object. It matters only for a member `code`: the
    /// `code` of a `product` is not secret.
    package func hides(_ name: String, in parent: String?) -> Bool {
        guard !isNone else { return false }
        return switch verdict(of: name) {
        case .visible: false
        case .secret: true
        case .code: parent.map { verdict(of: "\($0).\(name)") != .visible } ?? true
        }
    }

    /// Returns whether a fragment occurs in the text, without regard to case and separators in it.
    package func hasFragment(in text: String) -> Bool { memory.fragments.findsLoosely(in: text) }

    private func verdict(of name: String) -> RedactionMemory.Verdict {
        memory.verdict(of: name) {
            let parts = NameParts(name)
            guard hides(parts) else { return .visible }
            return parts.words == ["code"] ? .code : .secret
        }
    }

    private func hides(_ parts: NameParts) -> Bool {
        let name = parts.words.joined()
        if names.contains(name) { return true }
        if name == "accesscontrolallowcredentials" { return false }  // The value is `true`.
        for (index, component) in parts.components.enumerated() where names.contains(component.joined()) {
            let isPublic = component == ["code"] && index > 0 && parts.components[index - 1].last.map(isThing) == true
            if !isPublic { return true }
        }
        guard let first = parts.words.first, let last = parts.words.last else { return false }
        let isMeasure = Self.limits.contains(first) || Self.measures.contains(last)
        let telling = Self.withoutHarmless(parts.words)
        let joined = telling.joined()
        if isMeasure ? memory.fragments.findsEnd(of: joined) : memory.fragments.finds(in: joined) { return true }
        return hasSecretWord(telling, isAtEnd: isMeasure || Self.attributes.contains(last))
    }

    /// Returns whether up to three consecutive words of a name, joined, are an entry of `words`, such as `pin code`. A
    /// number at their end is ignored: `cvc2` matches `cvc`.
    ///
    /// - Parameter isAtEnd: Whether only the last words of the name are compared.
    private func hasSecretWord(_ parts: [String], isAtEnd: Bool) -> Bool {
        parts.indices.contains { start in
            (1...3).contains { count in
                guard start + count <= parts.count, !isAtEnd || start + count == parts.count else { return false }
                let run = parts[start..<(start + count)].joined()
                return words.contains(run) || words.contains(String(run.trimmingDigits))
            }
        }
    }

    /// Returns whether this word names a thing whose code is public, such as a product.
    private func isThing(_ word: String) -> Bool { Self.thingsWithCodes.contains(word) }

    private static let thingsWithCodes: Set = [
        "airline", "airport", "article", "city", "color", "colour", "country", "currency", "department", "error",
        "errors", "item", "items", "lang", "language", "locale", "order", "postal", "product", "products", "region",
        "result", "sku", "state", "status", "unit", "warning", "zip",
    ]

    /// Last words of names that measure or classify a secret without containing it: `token_count`, `password_length`.
    private static let measures: Set = [
        "alg", "algorithm", "count", "counts", "enabled", "expiration", "expires", "expiry", "length", "lifetime",
        "limit", "limits", "policy", "rate", "required", "size", "strength", "timeout", "ttl", "type", "types",
    ]
    /// First words of names that limit or count a secret without containing it: `max_tokens`.
    private static let limits: Set = ["max", "maximum", "min", "minimum", "total"]
    /// Last words of names that contain an attribute of a secret and not the secret itself: `ticket_id`, `auth_url`.
    private static let attributes: Set = [
        "category", "class", "date", "description", "endpoint", "format", "id", "ids", "index", "kind", "label",
        "level", "method", "mode", "name", "names", "price", "provider", "scheme", "state", "status", "through", "time",
        "title", "uri", "url", "user", "username", "version",
    ]

    /// Words that contain a fragment by chance and are not secret.
    private static let harmlessWords: Set = [
        "cookieless", "passwordless", "secretariat", "secretaries", "secretary", "sessionless", "tokenization",
        "tokenize", "tokenized", "tokenizer", "tokenizers", "tokenizing",
    ]
    /// Words that make a following `tokens` a number of tokens, as in the APIs of language models: `input_tokens`.
    private static let countedTokens: Set = ["cached", "completion", "input", "output", "prompt", "reasoning"]

    private static func withoutHarmless(_ words: [String]) -> [String] {
        words.enumerated().filter { index, word in
            let isCounted = word == "tokens" && index > 0 && countedTokens.contains(words[index - 1])
            return !isCounted && !harmlessWords.contains(word)
        }.map(\.element)
    }
}

extension String {
    fileprivate var trimmingDigits: Substring {
        var text = self[...]
        while text.last?.isNumber == true { text.removeLast() }
        return text
    }
}
