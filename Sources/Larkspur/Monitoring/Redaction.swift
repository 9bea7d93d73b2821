/// What must not show where requests are described: the values of header fields, query items, form fields and JSON
/// members whose names sound like secrets.
///
/// Names are compared without regard to case, hyphens and underscores.
public struct Redaction: Sendable, Hashable {
    /// What is put in place of a secret.
    public static let replacement = "REDACTED"

    /// Names that are secret as a whole.
    public var names: Set<String> { didSet { names = Set(names.map(Self.normal)) } }
    /// What makes a name secret wherever it stands in it: `token` hides `X-Amz-Security-Token`.
    public var fragments: Set<String> { didSet { fragments = Set(fragments.map(Self.normal)) } }

    public init(names: Set<String> = [], fragments: Set<String> = []) {
        self.names = Set(names.map(Self.normal))
        self.fragments = Set(fragments.map(Self.normal))
    }

    /// Credentials, sessions, keys and signatures, as they are usually called.
    public static let standard = Redaction(
        names: ["auth", "code", "cred", "creds", "jwt", "key", "otp", "pass", "pin", "pwd", "sid", "sig", "xpass"],
        fragments: [
            "accesskey", "apikey", "authorization", "authentic", "cookie", "credential", "csrf", "passcode",
            "passphrase",
            "password", "passwd", "privatekey", "secret", "session", "signature", "token", "vault", "xsrf",
        ])

    /// Everything shows.
    public static let none = Redaction()

    /// Whether values of this name are hidden.
    public func hides(_ name: String) -> Bool {
        let name = Self.normal(name)
        return names.contains(name) || fragments.contains { name.contains($0) }
    }

    private static func normal(_ name: String) -> String {
        name.lowercased().filter { $0 != "-" && $0 != "_" }
    }
}

extension Redaction {
    var isNone: Bool { names.isEmpty && fragments.isEmpty }

    /// The value of a header field; of credentials the scheme stays.
    func value(of field: HTTPHeader) -> String {
        guard hides(field.name) else { return field.value }
        let words = field.value.split(separator: " ", maxSplits: 1)
        let isCredential = field.name.lowercased().hasSuffix("authorization") && words.count == 2
        return isCredential ? "\(words[0]) \(Self.replacement)" : Self.replacement
    }

    /// A query, or a form in the same notation.
    func form(_ text: some StringProtocol) -> String {
        if isNone { return String(text) }
        return String(text).split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let name = String(pair.prefix { $0 != "=" })
            let plain = name.replacing("+", with: " ").removingPercentEncoding ?? name
            return hides(plain) && name.count < pair.count ? "\(name)=\(Self.replacement)" : String(pair)
        }.joined(separator: "&")
    }

    /// A URL, without user and password, which it never shows.
    func url(_ url: RequestURL) -> String {
        guard let query = url.query, !isNone else { return url.text }
        return ((try? url.replacingQuery(form(query))) ?? url).text
    }

    /// A body of this type: JSON and forms without the values of secrets, whatever type they are given; anything else as it
    /// is, unless the name of a secret stands in it. Then nobody can tell where the secret is, and nothing is shown.
    func body(_ data: Data, type: String?) -> Data {
        if isNone || data.isEmpty { return data }
        let type = type?.lowercased() ?? ""
        if let json = try? JSON(data: data), json.array != nil || json.object != nil {
            let shown = self.json(json)
            return shown == json ? data : shown.data()
        }
        if type.contains("x-www-form-urlencoded") { return Data(form(String(decoding: data, as: UTF8.self)).utf8) }
        let text = Self.normal(String(decoding: data, as: UTF8.self))
        return fragments.contains { text.contains($0) } ? Data("\(Self.replacement) (\(data.count) bytes)".utf8) : data
    }

    /// A JSON value.
    func json(_ value: JSON) -> JSON {
        switch value {
        case .null, .bool, .number, .string: value
        case .array(let elements): .array(elements.map(json))
        case .object(let members):
            .object(JSON.Object(members.map { ($0, hides($0) && !$1.isNull ? .string(Self.replacement) : json($1)) }))
        }
    }
}
