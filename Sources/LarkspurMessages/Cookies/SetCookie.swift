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
        guard !text.utf8.contains(where: Cookie.isControl) else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let pair = Self.halves(parts[0])
        (name, value) = pair.right.map { (pair.left, $0) } ?? ("", pair.left)
        for part in parts.dropFirst() {
            let (attribute, value) = Self.halves(part)
            take(attribute.lowercased(), value ?? "")
        }
    }

    private mutating func take(_ attribute: String, _ value: String) {
        guard value.utf8.count <= Self.limitOfAttribute else { return }
        switch attribute {
        case "expires": expires = Date(cookieDate: value) ?? expires
        case "max-age": maxAge = Self.seconds(value) ?? maxAge
        case "domain": domain = String(Substring(value.utf8.dropFirst(value.utf8.first == UInt8(ascii: ".") ? 1 : 0)))
        case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = Cookie.SameSite(rawValue: value.lowercased()) ?? .unspecified
        default: break
        }
    }

    /// Splits the text at the first equals sign; `right` is nil if the text has no equals sign.
    private static func halves(_ text: Substring.UTF8View) -> (left: String, right: String?) {
        let sign = text.firstIndex(of: UInt8(ascii: "="))
        let left = String(Substring(text[..<(sign ?? text.endIndex)].trimmed))
        return (left, sign.map { String(Substring(text[$0...].dropFirst().trimmed)) })
    }

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
