/// A parsed `Set-Cookie` field (RFC 6265bis, section 5.6). The parser ignores unknown attributes. If an attribute is
/// repeated, the last one counts.
struct SetCookie {
    /// The maximum lifetime of a cookie: 400 days. A longer lifetime is reduced to 400 days.
    static let maximumLifetime: TimeInterval = 400 * 86_400
    private static let limitOfAttribute = 1_024

    let name: String
    let value: String
    private var expires: Date?
    /// The `Max-Age` attribute: the lifetime in seconds; zero if the attribute is negative.
    private var maxAge: Int?
    /// The `Domain` attribute; empty if it is missing.
    private var domain = ""
    /// The `Path` attribute; nil means the default path, which is taken from the request's URL.
    private var path: String?
    private var isSecure = false
    private var isHTTPOnly = false
    private var sameSite = Cookie.SameSite.unspecified

    /// Parses a field; nil if the field contains a control character.
    init?(_ text: String) {
        var text = text
        guard let parsed = text.withUTF8({ SetCookie($0[...]) }) else { return nil }
        self = parsed
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private init?(_ text: Bytes) {
        guard !text.contains(where: Cookie.isControl) else { return nil }
        let end = text.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
        let pair = Self.halves(text[..<end])
        let (left, right) = (Self.text(pair.left), pair.right.map(Self.text))
        (name, value) = right.map { (left, $0) } ?? ("", left)
        var rest = text[end...]
        while !rest.isEmpty {
            rest.removeFirst()  // the semicolon
            let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.endIndex
            let (attribute, value) = Self.halves(rest[..<end])
            take(attribute, value ?? text[text.endIndex...])
            rest = rest[end...]
        }
    }

    private mutating func take(_ attribute: Bytes, _ value: Bytes) {
        func isNamed(_ name: StaticString) -> Bool {
            attribute.count == name.utf8CodeUnitCount
                && zip(attribute, UnsafeBufferPointer(start: name.utf8Start, count: attribute.count))
                    .allSatisfy { ((0x41...0x5A).contains($0) ? $0 | 0x20 : $0) == $1 }
        }
        guard value.count <= Self.limitOfAttribute else { return }
        if isNamed("path") {
            path = value.first == UInt8(ascii: "/") ? Self.text(value) : nil
        } else if isNamed("secure") {
            isSecure = true
        } else if isNamed("httponly") {
            isHTTPOnly = true
        } else if isNamed("samesite") {
            sameSite = Cookie.SameSite(rawValue: Self.text(value).lowercased()) ?? .unspecified
        } else if isNamed("expires") {
            expires = Date(cookieDate: Self.text(value)) ?? expires
        } else if isNamed("max-age") {
            maxAge = Self.seconds(Self.text(value)) ?? maxAge
        } else if isNamed("domain") {
            domain = Self.text(value.first == UInt8(ascii: ".") ? value.dropFirst() : value)
        }
    }

    /// Splits the text at the first equals sign; `right` is nil if the text has no equals sign.
    private static func halves(_ text: Bytes) -> (left: Bytes, right: Bytes?) {
        guard let sign = text.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(text), nil) }
        return (trimmed(text[..<sign]), trimmed(text[(sign + 1)...]))
    }

    private static func trimmed(_ text: Bytes) -> Bytes {
        var text = text
        while text.first?.isBlank == true { text.removeFirst() }
        while text.last?.isBlank == true { text.removeLast() }
        return text
    }

    private static func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func seconds(_ text: String) -> Int? {
        guard text.utf8.first == UInt8(ascii: "-") else { return Int(digits: text.utf8) }
        return Int(digits: text.utf8.dropFirst()).map { _ in 0 }
    }
}

// MARK: The cookie of a response

extension SetCookie {
    /// Returns the cookie that a response from this URL sets; nil if RFC 6265bis, section 5.7, does not allow it.
    func cookie(from url: RequestURL, at now: Date) -> Cookie? {
        guard let host = url.host.map(String.init), let isHostOnly = isHostOnly(from: host), !isSecure || url.isSecure
        else { return nil }
        guard path != nil || !Cookie.hasPrefix("__Host-", name) else { return nil }
        let cookie = Cookie(
            name, value, isHostOnly ? host : domain.lowercased(), isHostOnly: isHostOnly,
            path: path ?? Self.defaultPath(of: url), expires: expiry(from: now), isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, creation: now)
        return cookie.fault == nil ? cookie : nil
    }

    /// Returns whether the cookie is for one host only; nil if the response may not set a cookie for this domain.
    private func isHostOnly(from host: String) -> Bool? {
        if domain.isEmpty { return true }
        // A domain with other characters than ASCII is refused, because `lowercased()` would change some of them to
        // ASCII letters.
        guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let domain = domain.lowercased()
        guard Cookie.domain(domain, contains: host) else { return nil }
        guard PublicSuffix.contains(domain) else { return false }
        return domain == host ? true : nil
    }

    private func expiry(from now: Date) -> Date? {
        let latest = now.addingTimeInterval(Self.maximumLifetime)
        if let maxAge { return maxAge > 0 ? min(now.addingTimeInterval(TimeInterval(maxAge)), latest) : .distantPast }
        return expires.map { min($0, latest) }
    }

    /// Returns the path of the URL up to its last slash, without that slash.
    private static func defaultPath(of url: RequestURL) -> String {
        let folder = url.path.lastIndex(of: "/").map { url.path[..<$0] } ?? ""
        return folder.isEmpty ? "/" : String(folder)
    }
}

extension RequestURL {
    /// Whether the URL may set and receive secure cookies. This requires TLS; there is no exception for the local host.
    var isSecure: Bool { isHTTPS || scheme == "wss" }
}
