extension Redaction {
    /// Returns the value of a header field without secrets. The scheme of a credential, such as `Bearer`, and the
    /// harmless parts of a URL remain visible.
    public func value(of field: HeaderField) -> String {
        guard field.isSecret && !isNone || hides(field.name) else { return reference(field.value) }
        let words = field.value.split(separator: " ", maxSplits: 1)
        guard field.name.lowercased().hasSuffix("authorization"), words.count == 2,
            Self.schemes.contains(words[0].lowercased())
        else { return Self.replacement }
        return "\(words[0]) \(Self.replacement)"
    }

    /// The known authentication schemes. Any other first word is hidden, because it may be part of the credential.
    private static let schemes: Set = [
        "apikey", "aws4-hmac-sha256", "basic", "bearer", "digest", "dpop", "gnap", "hmac", "hoba", "key", "mutual",
        "negotiate", "ntlm", "oauth", "scram-sha-1", "scram-sha-256", "signature", "token", "vapid",
    ]

    /// Returns a text without secrets. The text may be an absolute or relative URL, such as the value of `Location` or
    /// `Referer`.
    ///
    /// A URL in the query of this URL is searched too, but a URL in the query of that second URL is not. Without this
    /// limit, a text of many question marks would overflow the stack.
    package func reference(_ text: String, isOutermost: Bool = true) -> String {
        if isNone { return text }
        if text.contains("@"), let url = try? RequestURL(text), url.user != nil { return self.url(url) }
        let text = Self.withoutUsers(text)
        guard let start = text.firstIndex(where: { "?#".contains($0) }) else { return pathParameters(text) }
        let parts = text[start...].dropFirst().split(separator: "#", omittingEmptySubsequences: false)
        let shown = parts.map { form($0, isOutermost: isOutermost) }.joined(separator: "#")
        return pathParameters(String(text[..<start])) + text[start...start] + shown
    }

    /// Hides the text between `//` and `@`, in URLs without a scheme or with an unknown scheme, and in plain text.
    private static func withoutUsers(_ text: String) -> String {
        guard text.contains("@"), text.contains("//") else { return text }
        let users = /\/\/[^\/?#\s<>"']*@/.matchingSemantics(.unicodeScalar)
        return text.replacing(users, with: "//\(replacement)@")
    }

    /// Hides secret parameters of path segments, as in `/cart;jsessionid=1`.
    private func pathParameters(_ path: String) -> String {
        guard path.contains(";"), path.contains("=") else { return path }
        let parameters = /;([^;=\/\s"]+)=([^;\/\s,"]+)/.matchingSemantics(.unicodeScalar)
        return path.replacing(parameters) { match in
            hides(Self.decoded(String(match.output.1)))
                ? ";\(match.output.1)=\(Self.replacement)" : String(match.output.0)
        }
    }

    /// Returns a query, or a form in the same notation, without secrets. A value that contains a secret, such as a URL,
    /// JSON or GraphQL, is hidden as a whole.
    ///
    /// The text is split by Unicode scalars and not by characters: with a combining mark after it, a delimiter is part
    /// of another character and would not be found.
    package func form(_ text: some StringProtocol, isOutermost: Bool = true) -> String {
        if isNone { return String(text) }
        let pairs = String(text).unicodeScalars.split(separator: "&", omittingEmptySubsequences: false)
        return pairs.map { pair in
            guard let end = pair.firstIndex(of: "=") else { return String(pair) }
            let name = String(pair[..<end])
            let value = Self.decoded(String(pair[end...].dropFirst()))
            let isSecret = hides(Self.decoded(name)) || isOutermost && hasSecret(value)
            return isSecret ? "\(name)=\(Self.replacement)" : String(pair)
        }.joined(separator: "&")
    }

    private func hasSecret(_ value: String) -> Bool {
        reference(value, isOutermost: false) != value
            || value.contains(where: "{[(<".contains) && namesSecret(in: value)
    }

    private static func decoded(_ text: String) -> String {
        RequestURL.Percent.decoded(text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
    }

    /// Returns a URL without its fragment and without secrets. User and password need not be hidden, because they are
    /// never part of a URL's text.
    public func url(_ url: RequestURL) -> String {
        guard let query = url.query else { return path(of: url) }
        return path(of: url) + "?" + hiding(url.secretItems).form(query)
    }

    /// Returns a URL with its fragment and without secrets. The fragment is searched too, because servers send tokens
    /// in fragments.
    func whole(_ url: RequestURL) -> String {
        guard let fragment = url.fragment else { return self.url(url) }
        return self.url(url) + "#" + form(fragment)
    }

    /// Returns a URL up to its query, without secrets.
    package func path(of url: RequestURL) -> String {
        let text = String(url.text.prefix { $0 != "?" && $0 != "#" })
        if isNone { return text }
        // `ada:hunter2@host/x` parses as a URL with the scheme `ada`. Most likely, a user and password were meant, and
        // the scheme is missing.
        if !url.hasAuthority, let end = text.lastIndex(of: "@") {
            return "\(url.scheme):\(Self.replacement)\(text[end...])"
        }
        return pathParameters(Self.withoutUsers(text))
    }

    /// Returns a text that is not a URL, in quotes and without possible secrets. These are a password before an `@`,
    /// and a token after a `?` or `#`. The text is split by Unicode scalars, as in `form(_:isOutermost:)`.
    package static func quoted(_ text: String) -> String {
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

    /// Returns whether the text assigns a value to the name of a secret, as in markup, settings or damaged JSON.
    package func namesSecret(in text: String) -> Bool {
        if isNone { return false }
        var name = String.UnicodeScalarView()
        var isOver = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "=", ":", ">":
                if !name.isEmpty, hides(String(name)) { return true }
                name.removeAll()
            case "\"", "'", "\\", " ", "\t", "\r", "\n": isOver = true
            case _ where scalar.isOfWord || "-_.".unicodeScalars.contains(scalar):
                if isOver { name.removeAll() }
                isOver = false
                name.append(scalar)
            default: name.removeAll()
            }
        }
        return false
    }
}
