extension Redaction {
    /// Returns the value of a header field without secrets. The scheme of a credential, such as `Bearer`, the harmless
    /// parts of a URL, and the harmless parameters of a challenge, such as `realm`, remain visible.
    public func value(of field: HTTPHeader) -> String {
        guard hides(field) else { return recurring(field.value) }
        if !field.isSecret, showsChallenges(of: field.name) { return challenges(field.value) }
        let words = field.value.split(separator: " ", maxSplits: 1)
        guard field.name.lowercased().hasSuffix("authorization"), words.count == 2,
            Self.schemes.contains(words[0].lowercased())
        else { return Self.replacement }
        return "\(words[0]) \(Self.replacement)"
    }

    /// Returns whether the value of the field is hidden.
    ///
    /// The name `Refresh` is also that of a field that loads a page again, with a number of seconds as its value.
    package func hides(_ field: HTTPHeader) -> Bool {
        if field.isSecret { return !isNone }
        guard hides(field.name) else { return false }
        guard HTTPHeaders.areEqual(field.name, "Refresh") else { return true }
        let rest = field.value.utf8.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return rest.count == field.value.utf8.count
            || rest.first.map { $0 != 0x3B && $0 != 0x2C } == true
    }

    /// The known authentication schemes. Any other first word is hidden, because it may be part of the credential.
    static let schemes: Set = [
        "apikey", "aws4-hmac-sha256", "basic", "bearer", "digest", "dpop", "gnap", "hmac", "hoba", "key", "mutual",
        "negotiate", "ntlm", "oauth", "scram-sha-1", "scram-sha-256", "signature", "token", "vapid",
    ]

    /// Returns the value of a field as ``reference(_:isOutermost:)`` does. Values such as `User-Agent` come with every
    /// request, so a value without secrets is searched once.
    private func recurring(_ value: String) -> String {
        if isNone { return value }
        let text = withoutTokens(value)
        if !text.has(anyOf: "@?#;") || memory.isHarmless(text) { return text }
        let shown = reference(text)
        if shown == value { memory.addHarmless(value) }
        return shown
    }

    /// Returns a text without secrets. The text may be an absolute or relative URL, such as the value of `Location` or
    /// `Referer`.
    ///
    /// A URL in the query of this URL is searched too, but a URL in the query of that second URL is not. Without this
    /// limit, a text of many question marks would overflow the stack.
    package func reference(_ text: String, isOutermost: Bool = true) -> String {
        if isNone { return text }
        var text = withoutTokens(text)
        if !text.has(anyOf: "@?#;") { return text }
        if text.has(anyOf: "@"), let url = try? RequestURL(text), url.user != nil {
            return self.url(url)
        }
        text = Self.withoutUsers(text)
        let scalars = text.unicodeScalars
        guard let start = scalars.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return pathParameters(text) }
        let parts = scalars[start...].dropFirst().split(separator: "#", omittingEmptySubsequences: false)
        let shown = parts.map { form(Substring($0), isOutermost: isOutermost) }.joined(separator: "#")
        return pathParameters(String(scalars[..<start])) + String(scalars[start]) + shown
    }

    /// Hides the text between `//` and `@`, in URLs without a scheme or with an unknown scheme, and in plain text.
    private static func withoutUsers(_ text: String) -> String {
        guard text.has(anyOf: "@"), text.has(anyOf: "/") else { return text }
        let users = /\/\/[^\/?#\s<>"']*@/.matchingSemantics(.unicodeScalar)
        return text.replacing(users, with: "//\(replacement)@")
    }

    /// Hides secret parameters of path segments, as in `/cart;jsessionid=1`.
    private func pathParameters(_ path: String) -> String {
        guard path.has(anyOf: ";"), path.has(anyOf: "=") else { return path }
        let scalars = path.unicodeScalars
        func end(_ start: String.Index, _ stops: StaticString) -> String.Index {
            let rest = scalars[start...]
            return rest.firstIndex { $0.isASCII ? stops.has($0) : $0.properties.isWhitespace } ?? scalars.endIndex
        }
        var shown = ""
        var copied = scalars.startIndex
        var position = scalars.startIndex
        while let semicolon = scalars[position...].firstIndex(of: ";") {
            let name = scalars.index(after: semicolon)..<end(scalars.index(after: semicolon), ";=/\" \t\r\n\u{B}\u{C}")
            position = name.upperBound
            guard !name.isEmpty, position < scalars.endIndex, scalars[position] == "=" else { continue }
            let start = scalars.index(after: position)
            position = end(start, ";/,\" \t\r\n\u{B}\u{C}")
            guard start < position, hides(Self.decoded(String(scalars[name]))) else { continue }
            shown += path[copied..<start] + Self.replacement
            copied = position
        }
        return shown + path[copied...]
    }

    /// Returns a query, or a form in the same notation, without secrets. A value that contains a secret, such as a URL,
    /// JSON or GraphQL, is hidden as a whole.
    ///
    /// The text is split by Unicode scalars and not by characters: with a combining mark after it, a delimiter is part
    /// of another character and would not be found.
    package func form(_ text: some StringProtocol, isOutermost: Bool = true) -> String {
        if isNone { return String(text) }
        let pairs = String(text).unicodeScalars.split(separator: "&", omittingEmptySubsequences: false)
        // Only beside the identifier of a key is a policy part of a signature, as in the URLs of CloudFront.
        let isSigned = pairs.contains { $0.starts(with: "Key-Pair-Id=".unicodeScalars) }
        return pairs.map { pair in
            guard let end = pair.firstIndex(of: "=") else {
                let text = Self.decoded(String(pair))
                return withoutTokens(text) == text ? String(pair) : Self.replacement
            }
            let name = String(pair[..<end])
            let value = Self.decoded(String(pair[end...].dropFirst()))
            let isSecret =
                hides(Self.decoded(name)) || isSigned && name == "Policy" || isOutermost && hasSecret(value)
            return isSecret ? "\(name)=\(Self.replacement)" : withoutTokens(String(pair))
        }.joined(separator: "&")
    }

    private func hasSecret(_ value: String) -> Bool {
        reference(value, isOutermost: false) != value || value.has(anyOf: "{[(<") && namesSecret(in: value)
    }

    private static func decoded(_ text: String) -> String {
        guard text.has(anyOf: "%+") else { return text }
        return RequestURL.Percent.decoded(text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
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
        let text = String(url.text[..<Self.endOfPath(of: url.text)])
        if isNone { return text }
        // `ada:hunter2@host/x` parses as a URL with the scheme `ada`. Most likely, a user and password were meant, and
        // the scheme is missing.
        if !url.hasAuthority, let end = text.lastIndex(of: "@") {
            return "\(url.scheme):\(Self.replacement)\(text[end...])"
        }
        return pathParameters(Self.withoutUsers(withoutTokens(text)))
    }

    /// Returns the position of the query or the fragment. A byte is compared, because a combining mark may follow.
    private static func endOfPath(of text: String) -> String.Index {
        text.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.endIndex
    }

    /// Returns a text that is not a URL, in quotes and without possible secrets. These are a password before an `@`,
    /// and a token after a `?` or `#`. The text is split by Unicode scalars, as in `form(_:isOutermost:)`.
    package static func quoted(_ text: String) -> String {
        let text = standard.withoutTokens(text)
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
        let scalars = text.unicodeScalars
        // The last word that was read, up to an index at which it may go on.
        var name = scalars.startIndex..<scalars.startIndex
        var isOver = false
        for index in scalars.indices {
            let scalar = scalars[index]
            switch scalar {
            case "=", ":", ">":
                if !name.isEmpty, hides(String(scalars[name])) { return true }
                name = index..<index
            case "\"", "'", "\\", " ", "\t", "\r", "\n": isOver = true
            case _ where scalar.isOfWord || scalar == "-" || scalar == "_" || scalar == ".":
                name = (isOver || name.isEmpty ? index : name.lowerBound)..<scalars.index(after: index)
                isOver = false
            default: name = index..<index
            }
        }
        return false
    }
}

extension StringProtocol {
    /// Returns whether these ASCII characters occur, one after the other.
    package func has(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            var rest = Substring(self).utf8
            while let start = rest.firstIndex(of: text[0]) {
                rest = rest[start...]
                if rest.starts(with: text) { return true }
                rest.removeFirst()
            }
            return false
        }
    }

    /// Returns whether one of these ASCII characters occurs, also with a combining mark after it.
    package func has(anyOf characters: StaticString) -> Bool {
        characters.withUTF8Buffer { set in
            utf8.withContiguousStorageIfAvailable { $0.has(anyOf: set) } ?? utf8.contains { set.contains($0) }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns whether one of these ASCII characters occurs.
    fileprivate func has(anyOf characters: UnsafeBufferPointer<UInt8>) -> Bool {
        // One bit for each ASCII character.
        var (low, high): (UInt64, UInt64) = (0, 0)
        for character in characters {
            if character < 64 { low |= 1 << UInt64(character) } else { high |= 1 << UInt64(character & 63) }
        }
        return contains { byte in
            byte < 0x80 && (byte < 64 ? low : high) & 1 << UInt64(byte & 63) != 0
        }
    }
}

extension StaticString {
    /// Returns whether an ASCII character occurs in a text of such characters.
    fileprivate func has(_ scalar: Unicode.Scalar) -> Bool { withUTF8Buffer { $0.contains(UInt8(scalar.value)) } }
}
