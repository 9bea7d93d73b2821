/// What must not show where requests are described: the values of header fields, query items, form fields and JSON
/// members whose names sound like secrets.
///
/// Names are compared without regard to case, hyphens and underscores; of one that is put together, `card[pin]` or
/// `card.pin`, each part is.
public struct Redaction: Sendable, Hashable {
    /// What is put in place of a secret.
    public static let replacement = "REDACTED"

    /// Names that are secret as a whole.
    public var names: Set<String> { didSet { names = Set(names.map(Self.normal)) } }
    /// What makes a name secret wherever it stands in it: `token` hides `X-Amz-Security-Token`.
    public var fragments: Set<String> { didSet { fragments = Set(fragments.map(Self.normal)) } }

    /// Hides these names and nothing else; `.standard` is what to begin with.
    public init(names: Set<String> = [], fragments: Set<String> = []) {
        self.names = Set(names.map(Self.normal))
        self.fragments = Set(fragments.map(Self.normal))
    }

    /// Credentials, sessions, keys and signatures, as they are usually called.
    public static let standard = Redaction(
        names: [
            "auth", "code", "cred", "creds", "cvc", "cvv", "jwt", "key", "otp", "pass", "pin", "pwd", "sid", "sig",
            "xauth", "xpass",
        ],
        fragments: [
            "accesskey", "apikey", "appkey", "applicationkey", "assertion", "authentic", "authkey", "authorization",
            "codeverifier", "consumerkey", "cookie", "credential", "csrf", "customerkey", "encryptionkey",
            "functionskey", "masterkey", "passcode", "passphrase", "password", "passwd", "privatekey", "samlresponse",
            "secret", "session", "sharedkey", "signature", "signingkey", "subscriptionkey", "token", "vault", "xsrf",
        ])

    /// Everything shows.
    public static let none = Redaction()

    /// Whether values of this name are hidden.
    public func hides(_ name: String) -> Bool {
        let name = Self.normal(name)
        if names.contains(name) || fragments.contains(where: { name.contains($0) }) { return true }
        return name.split { "[].".contains($0) }.contains { names.contains(String($0)) }
    }

    private static func normal(_ name: String) -> String {
        name.lowercased().filter { $0 != "-" && $0 != "_" }
    }
}

extension Redaction {
    var isNone: Bool { names.isEmpty && fragments.isEmpty }

    /// The same, and these names; what hides nothing stays so.
    func hiding(_ more: [String]) -> Redaction {
        isNone || more.isEmpty ? self : Redaction(names: names.union(more), fragments: fragments)
    }

    /// The value of a header field; of credentials the scheme stays, of a URL what is no secret in it.
    func value(of field: HTTPHeader) -> String {
        guard hides(field.name) else { return reference(field.value) }
        let words = field.value.split(separator: " ", maxSplits: 1)
        let isCredential = field.name.lowercased().hasSuffix("authorization") && words.count == 2
        return isCredential ? "\(words[0]) \(Self.replacement)" : Self.replacement
    }

    /// A field's value that may be a URL, whole or relative, such as that of `Location` and `Referer`.
    ///
    /// Of URLs in the query of another one only the first is looked into, or a text of question marks would use up the stack.
    private func reference(_ text: String, isOutermost: Bool = true) -> String {
        if isNone { return text }
        if text.contains("@"), let url = try? RequestURL(text), url.user != nil { return self.url(url) }
        let text = Self.withoutUsers(text)
        guard let start = text.firstIndex(where: { "?#".contains($0) }) else { return text }
        let parts = text[start...].dropFirst().split(separator: "#", omittingEmptySubsequences: false)
        return text[...start] + parts.map { form($0, isOutermost: isOutermost) }.joined(separator: "#")
    }

    /// Of what follows `//` and stands before an `@` nothing is left: of URLs without a scheme, of foreign schemes, in text.
    private static func withoutUsers(_ text: String) -> String {
        guard text.contains("@"), text.contains("//") else { return text }
        let users = /\/\/[^\/?#\s<>"']*@/.matchingSemantics(.unicodeScalar)
        return text.replacing(users, with: "//\(replacement)@")
    }

    /// A query, or a form in the same notation. A value that is a URL with a secret is hidden as a whole.
    ///
    /// By scalars: what ends a pair or a name may have a combining mark after it, and is another character then.
    func form(_ text: some StringProtocol, isOutermost: Bool = true) -> String {
        if isNone { return String(text) }
        let pairs = String(text).unicodeScalars.split(separator: "&", omittingEmptySubsequences: false)
        return pairs.map { pair in
            guard let end = pair.firstIndex(of: "=") else { return String(pair) }
            let name = String(pair[..<end])
            let (plain, value) = (name.formDecoded, String(pair[end...].dropFirst()).formDecoded)
            let isSecret = hides(plain) || isOutermost && reference(value, isOutermost: false) != value
            return isSecret ? "\(name)=\(Self.replacement)" : String(pair)
        }.joined(separator: "&")
    }

    /// A URL without its fragment, and without user and password, which it never shows.
    func url(_ url: RequestURL) -> String {
        let text = url.text.prefix { $0 != "#" }
        guard let query = url.query, !isNone else { return String(text) }
        return text.dropLast(query.count) + form(query)
    }

    /// A text that is no URL, in quotes, and nothing in it that may be a secret: what stands before an `@` could be a
    /// password, and what follows a `?` or `#` a token. By scalars, as with forms.
    static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let rest = scalars.lastIndex(of: "@").map { scalars[$0...] } ?? scalars[...]
        let shown = rest.prefix { $0 != "?" && $0 != "#" }
        var quoted = String(shown.prefix(200))
        if rest.startIndex > scalars.startIndex {
            let scheme = scalars.prefix { $0.isASCII && $0.properties.isAlphabetic }
            let hasScheme = scalars[scheme.endIndex...].starts(with: "://".unicodeScalars)
            quoted = (hasScheme ? String(scheme) + "://" : "") + replacement + quoted
        }
        if shown.endIndex < rest.endIndex { quoted += "\(rest[shown.endIndex])\(replacement)" }
        return String(reflecting: quoted)
    }

    /// A body of this type: JSON, whatever its type, and forms of both kinds by theirs, without the values of secrets; anything else as it
    /// is, unless the name of a secret stands in it. Then nobody can tell where the secret is, and nothing is shown.
    func body(_ data: Data, type: String?) -> Data {
        if isNone || data.isEmpty { return data }
        let kind = type?.lowercased() ?? ""
        if let json = try? JSON(data: data), json.array != nil || json.object != nil {
            let shown = self.json(json)
            return shown == json ? data : shown.data()
        }
        let text = String(decoding: data, as: UTF8.self)
        if kind.contains("x-www-form-urlencoded") {
            let shown = form(text)
            return shown == text ? data : Data(shown.utf8)
        }
        if let type, kind.hasPrefix("multipart/form-data"), let shown = parts(data, type) { return shown }
        let plain = Self.normal(text)
        let isMarkup = kind.contains("xml") || kind.contains("json")
        let isSecret = fragments.contains { plain.contains($0) } || isMarkup && namesSecret(in: text)
        return isSecret ? Data("\(Self.replacement) (\(data.count) bytes)".utf8) : data
    }

    /// Whether the name of a secret stands before a sign that gives it a value: in markup, settings, cut JSON.
    func namesSecret(in text: String) -> Bool {
        if isNone { return false }
        var name = String.UnicodeScalarView()
        var isOver = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "=", ":", ">":
                if !name.isEmpty, hides(String(name)) { return true }
                name.removeAll()
            case "\"", "'", " ", "\t", "\r", "\n": isOver = true
            case "-", "_", ".",
                _ where scalar.properties.isAlphabetic || scalar.properties.numericType != nil:
                if isOver { name.removeAll() }
                isOver = false
                name.append(scalar)
            default: name.removeAll()
            }
        }
        return false
    }

    /// A form of parts (RFC 7578): the content of those with secret names goes, and what is secret in the others.
    ///
    /// Nil where the boundary that the type names does not occur.
    private func parts(_ data: Data, _ type: String) -> Data? {
        guard let boundary = type.parameters["boundary"], !boundary.isEmpty,
            data.range(of: Data("--\(boundary)".utf8)) != nil
        else { return nil }
        let delimiter = Data("\r\n--\(boundary)".utf8)
        var shown = Data()
        var rest = data[...]
        while !rest.isEmpty {
            let end = rest.range(of: delimiter)?.lowerBound ?? rest.endIndex
            shown += part(rest[..<end])
            let next = rest.index(end, offsetBy: delimiter.count, limitedBy: rest.endIndex) ?? rest.endIndex
            shown += rest[end..<next]
            rest = rest[next...]
        }
        return shown
    }

    private func part(_ data: Data) -> Data {
        guard let end = data.range(of: Data("\r\n\r\n".utf8))?.upperBound else { return data }
        let header = String(decoding: data[..<end], as: UTF8.self)
        let names = /(?i)[;\s]name=(?:"([^"]*)|([^";\s]*))/.matchingSemantics(.unicodeScalar)
        if let name = header.firstMatch(of: names)?.output, hides(String(name.1 ?? name.2 ?? "")) {
            return data[..<end] + Data(Self.replacement.utf8)
        }
        let types = /(?i)\ncontent-type:[ \t]*([^\r\n]*)/.matchingSemantics(.unicodeScalar)
        let type = header.firstMatch(of: types).map { String($0.output.1) }
        // A form in a form is text: who sends it could nest as many as take all the stack.
        let isForm = type?.lowercased().hasPrefix("multipart") ?? false
        return data[..<end] + body(Data(data[end...]), type: isForm ? nil : type)
    }

    /// A JSON value, without what is secret in URLs either.
    func json(_ value: JSON) -> JSON {
        switch value {
        case .null, .bool, .number: value
        case .string(let text): .string(reference(text))
        case .array(let elements): .array(elements.map(json))
        case .object(let members):
            .object(JSON.Object(members.map { ($0, hides($0) && !$1.isNull ? .string(Self.replacement) : json($1)) }))
        }
    }
}
