/// A cookie: a name and a value that a client stores for a server and sends back to the server (RFC 6265bis). Domain,
/// path and `Secure` restrict the requests that carry the cookie.
///
///     jar.set(try Cookie(name: "theme", value: "dark", domain: "example.com", isHostOnly: false))
///
/// `description` and `debugDescription` never show the value.
public struct Cookie: Sendable, Hashable {
    /// The `SameSite` attribute, which tells a browser whether to send the cookie with requests that another site
    /// causes.
    ///
    /// The requests of a ``Session`` are not caused by another site, so sessions ignore the attribute when they send
    /// cookies. The attribute has only one effect: a cookie with `none` is invalid unless it is secure.
    public enum SameSite: String, Sendable, Hashable, Codable {
        /// Browsers do not send the cookie with requests from other sites.
        case strict
        /// Browsers also send the cookie when the user navigates from another site to this one.
        case lax
        /// Browsers send the cookie with requests from all sites.
        case none
        /// The attribute is missing or not valid.
        case unspecified
    }

    /// The name; empty if the server has set only a value.
    public let name: String
    /// The value, which the client sends back unchanged.
    public let value: String
    /// The domain, in lower case. The cookie is sent to this host and, unless ``isHostOnly`` is true, to its
    /// subdomains.
    public let domain: String
    /// Whether the cookie is sent only to the host `domain` and not to its subdomains.
    public let isHostOnly: Bool
    /// The path for which the cookie is sent: `/docs` matches `/docs` and every path that begins with `/docs/`.
    public let path: String
    /// The expiry date; nil for a session cookie, which lasts as long as its jar.
    public let expires: Date?
    /// Whether the cookie is sent over TLS only.
    public let isSecure: Bool
    /// Whether a browser hides the cookie from scripts.
    public let isHTTPOnly: Bool
    /// The `SameSite` attribute.
    public let sameSite: SameSite
    /// The date on which the cookie was first set. Setting a new value does not change this date.
    public internal(set) var creation: Date

    /// Creates a cookie. Throws `.invalidCookie` if RFC 6265bis does not allow the cookie, or if it cannot be sent.
    ///
    /// - Parameter domain: The host name or address. A leading dot is ignored.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Date? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified,
        creation: Date = Date()
    ) throws(RequestError) {
        guard let domain = Self.host(domain) else {
            throw Self.refusal(name, "its domain is not the name or the address of a host")
        }
        if !isHostOnly, PublicSuffix.contains(domain) {
            throw Self.refusal(name, "its domain, \(domain), is a public suffix")
        }
        self.init(
            name, value, domain, isHostOnly: isHostOnly, path: path, expires: expires, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, creation: creation)
        try check()
    }

    /// Creates a cookie without checking its validity; the caller must check the cookie.
    init(
        _ name: String, _ value: String, _ domain: String, isHostOnly: Bool, path: String, expires: Date?,
        isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite, creation: Date
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.creation = creation
    }

    /// Returns the host in the form that URLs use; nil if the text is not a host name or an address.
    private static func host(_ text: String) -> String? {
        let text = text.first == "." ? String(text.dropFirst()) : text
        let authority = text.contains(":") ? "[\(text)]" : text
        guard let url = try? RequestURL("http://\(authority)/", idna: PlatformIDNA.ascii), url.target == "/",
            url.fragment == nil, url.user == nil
        else { return nil }
        return url.host.map(String.init)
    }
}

// MARK: Rules

extension Cookie {
    /// The maximum size of name and value together, in bytes.
    static let limit = 4_096
    static let limitOfPath = 1_024

    /// The reason why the cookie is invalid; nil if it is valid. The same rules apply to the cookies of servers and of
    /// programs.
    var fault: String? {
        if name.isEmpty, value.isEmpty { return "it has neither a name nor a value" }
        if [name, value, path].contains(where: { $0.utf8.contains(where: Self.isControl) }) {
            return "it contains a control character"
        }
        if name.utf8.count + value.utf8.count > Self.limit { return "it has more than \(Self.limit) bytes" }
        if path.utf8.count > Self.limitOfPath { return "its path has more than \(Self.limitOfPath) bytes" }
        if sameSite == .none, !isSecure { return "SameSite=None requires a secure cookie" }
        // A cookie without a name is sent as its bare value. If that value begins with `__Secure-` or `__Host-`, the
        // server would take the cookie for a cookie whose name has this prefix.
        let text = name.isEmpty ? value : name
        if (name.isEmpty || !isSecure) && Self.hasPrefix("__Secure-", text) {
            return "the prefix __Secure- requires a secure cookie"
        }
        if (name.isEmpty || !isSecure || !isHostOnly || path != "/") && Self.hasPrefix("__Host-", text) {
            return "the prefix __Host- requires a secure cookie of one host with the path /"
        }
        return nil
    }

    /// Throws `.invalidCookie` if the cookie is invalid. Used for cookies that were not parsed from a `Set-Cookie`
    /// field.
    func check() throws(RequestError) {
        if let fault { throw Self.refusal(name, fault) }
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw Self.refusal(name, "its path does not begin with a slash")
        }
        // A server that parses this pair must get the same name and the same value.
        guard let pair = SetCookie("\(name)=\(value)"), pair.name == name, pair.value == value else {
            throw Self.refusal(name, "its name or value contains a semicolon, an equals sign or outer white space")
        }
    }

    private static func refusal(_ name: String, _ reason: String) -> RequestError {
        RequestError(.invalidCookie, "the cookie \"\(name)\" is invalid: \(reason)")
    }

    /// Returns whether the byte is a control character other than the tab.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// Returns whether the text begins with the prefix, ignoring case.
    static func hasPrefix(_ prefix: String, _ text: String) -> Bool {
        text.utf8.first == prefix.utf8.first
            && HTTPHeaders.areEqual(String(decoding: text.utf8.prefix(prefix.utf8.count), as: UTF8.self), prefix)
    }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// Returns whether the cookie is sent to this URL. The caller has checked that the cookie's domain contains the
    /// host.
    func isFor(_ url: RequestURL, of host: String, at now: Date) -> Bool {
        (!isHostOnly || domain == host) && (!isSecure || url.isSecure) && !isExpired(at: now)
            && Self.path(path, contains: url.path)
    }

    /// The name that a server gets when it parses the cookie. If the cookie has no name, the server takes the part of
    /// the value before the first equals sign as the name.
    var seenName: Substring.UTF8View {
        name.isEmpty ? value.utf8.prefix { $0 != UInt8(ascii: "=") } : name[...].utf8
    }

    /// Returns whether setting one cookie replaces the other. Names and paths are compared as bytes, because `==` of
    /// Swift strings treats two Unicode spellings of a character as equal.
    func isSame(as other: Cookie) -> Bool {
        isHostOnly == other.isHostOnly && domain == other.domain && name.utf8.elementsEqual(other.name.utf8)
            && path.utf8.elementsEqual(other.path.utf8)
    }

    /// Returns whether the host is the domain or a subdomain of the domain (RFC 6265bis, section 5.1.3). IP addresses
    /// have no subdomains.
    static func domain(_ domain: String, contains host: String) -> Bool {
        host == domain || host.hasSuffix("." + domain) && !isAddress(host)
    }

    /// Returns whether a URL's host is an IP address. A host whose last label has only digits is an IPv4 address.
    package static func isAddress(_ host: String) -> Bool {
        if host.utf8.contains(UInt8(ascii: ":")) { return true }
        let dot = UInt8(ascii: ".")
        let label = host.utf8.reversed().drop { $0 == dot }.prefix { $0 != dot }
        return !label.isEmpty && label.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns whether `path` is the cookie's path `folder` or is below it (RFC 6265bis, section 5.1.4).
    static func path(_ folder: String, contains path: some StringProtocol) -> Bool {
        guard path.utf8.starts(with: folder.utf8) else { return false }
        let slash = UInt8(ascii: "/")
        let next = path.utf8.dropFirst(folder.utf8.count).first
        return next == nil || next == slash || folder.utf8.last == slash
    }
}

extension Cookie: Codable {
    /// Decodes a cookie that `encode(to:)` has written. Throws `.invalidCookie` if the cookie is not valid.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try values.decode(String.self, forKey: .name), try values.decode(String.self, forKey: .value),
            try values.decode(String.self, forKey: .domain),
            isHostOnly: try values.decode(Bool.self, forKey: .isHostOnly),
            path: try values.decode(String.self, forKey: .path),
            expires: try values.decodeIfPresent(Date.self, forKey: .expires),
            isSecure: try values.decode(Bool.self, forKey: .isSecure),
            isHTTPOnly: try values.decode(Bool.self, forKey: .isHTTPOnly),
            sameSite: try values.decode(SameSite.self, forKey: .sameSite),
            creation: try values.decode(Date.self, forKey: .creation))
        try check()
    }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name and the scope, without the value: `Cookie(sid, example.com/)`.
    public var description: String { "Cookie(\(name), \(domain)\(path))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
