/// What a server has a client keep and send back: a name and a value, and where they belong (RFC 6265bis).
///
///     jar.set(try Cookie(name: "theme", value: "dark", domain: "example.com", isHostOnly: false))
///
/// No description of it shows the value.
public struct Cookie: Sendable, Hashable {
    /// What a browser goes by when one site asks another. Whoever uses this library asks for himself, so it is kept, and
    /// decides nothing but that `none` needs a cookie that is secure.
    public enum SameSite: String, Sendable, Hashable, Codable {
        /// Never sent from other sites.
        case strict
        /// Sent when the user goes from another site to this one.
        case lax
        /// Sent from all sites.
        case none
        /// The server has not said it, or not so that it counts.
        case unspecified
    }

    /// Empty in the cookies of servers that set a value alone.
    public let name: String
    /// As it is sent back, byte for byte.
    public let value: String
    /// The host that the cookie is for, in lower case.
    public let domain: String
    /// Whether the cookie is for that very host, and not for those below it.
    public let isHostOnly: Bool
    /// Where the cookie's paths begin: `/docs` stands for itself and for all below `/docs/`.
    public let path: String
    /// When the cookie ends; nil for one that ends with its jar.
    public let expires: Date?
    /// Whether the cookie goes over TLS only.
    public let isSecure: Bool
    /// Whether a browser would keep the cookie from scripts.
    public let isHTTPOnly: Bool
    /// What the server has said of requests that other sites cause.
    public let sameSite: SameSite
    /// When the cookie was first set. A new value leaves it.
    public internal(set) var creation: Date

    /// A cookie made by hand; throws `.invalidCookie` for what no server could be sent, or must not be.
    ///
    /// - Parameter domain: A host, as it is written; a dot before it means nothing.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Date? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified,
        creation: Date = Date()
    ) throws(RequestError) {
        guard let domain = Self.host(domain) else {
            throw Self.refusal(name, "its domain is not the name or the address of a host")
        }
        if !isHostOnly, PublicSuffix.contains(domain) {
            throw Self.refusal(name, "its domain, \(domain), is one below which anybody can have a name")
        }
        self.init(
            name, value, domain, isHostOnly: isHostOnly, path: path, expires: expires, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, creation: creation)
        try check()
    }

    /// A cookie that its maker checks.
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

    /// The host of this text as URLs have it; nil if it is anything else.
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
    /// Name and value, in bytes.
    static let limit = 4_096
    static let limitOfPath = 1_024

    /// Why this can be no cookie, whoever sets it; nil if it can.
    var fault: String? {
        if name.isEmpty, value.isEmpty { return "it has neither a name nor a value" }
        if (name + value + path).utf8.contains(where: Self.isControl) { return "there is a control character in it" }
        if name.utf8.count + value.utf8.count > Self.limit { return "it has more than \(Self.limit) bytes" }
        if path.utf8.count > Self.limitOfPath { return "its path has more than \(Self.limitOfPath) bytes" }
        if sameSite == .none, !isSecure { return "with SameSite=None it has to be secure" }
        // One without a name goes over the wire as its value, and would be taken for the cookie that this imitates.
        let text = name.isEmpty ? value : name
        if (name.isEmpty || !isSecure) && Self.hasPrefix("__Secure-", text) {
            return "a name with __Secure- is for secure cookies"
        }
        if (name.isEmpty || !isSecure || !isHostOnly || path != "/") && Self.hasPrefix("__Host-", text) {
            return "a name with __Host- is for secure cookies of one host and all its paths"
        }
        return nil
    }

    /// Throws what is wrong with a cookie that was not parsed.
    func check() throws(RequestError) {
        if let fault { throw Self.refusal(name, fault) }
        guard path.utf8.first == UInt8(ascii: "/") else { throw Self.refusal(name, "its path begins with no slash") }
        // What a server would read as something else.
        guard let pair = SetCookie("\(name)=\(value)"), pair.name == name, pair.value == value else {
            throw Self.refusal(name, "its name or value has a semicolon, an equals sign or outer white space")
        }
    }

    private static func refusal(_ name: String, _ reason: String) -> RequestError {
        RequestError(.invalidCookie, "the cookie \"\(name)\" is refused: \(reason)")
    }

    /// All but the tab.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// Whatever the case.
    static func hasPrefix(_ prefix: String, _ text: String) -> Bool {
        HTTPHeaders.areEqual(String(decoding: text.utf8.prefix(prefix.utf8.count), as: UTF8.self), prefix)
    }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// Whether it is sent to this URL, whose host the domain contains.
    func isFor(_ url: RequestURL, of host: String, at now: Date) -> Bool {
        (!isHostOnly || domain == host) && (!isSecure || url.isSecure) && !isExpired(at: now)
            && Self.path(path, contains: url.path)
    }

    /// What a server takes for the name: of a cookie without one, what stands before the first equals sign of its value.
    var seenName: Substring.UTF8View {
        name.isEmpty ? value.utf8.prefix { $0 != UInt8(ascii: "=") } : name[...].utf8
    }

    /// Whether setting the one replaces the other. By bytes: to Swift different bytes can be the same text.
    func isSame(as other: Cookie) -> Bool {
        isHostOnly == other.isHostOnly && domain == other.domain && name.utf8.elementsEqual(other.name.utf8)
            && path.utf8.elementsEqual(other.path.utf8)
    }

    /// Whether the host is the domain or below it (RFC 6265bis, section 5.1.3). There is nothing below an address.
    static func domain(_ domain: String, contains host: String) -> Bool {
        host == domain || host.hasSuffix("." + domain) && !isAddress(host)
    }

    /// Of a URL's host, where a last label of digits is an IPv4 address's.
    static func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.split(separator: ".").last?.allSatisfy { ("0"..."9").contains($0) } ?? false
    }

    /// Whether the path is the cookie's or below it (RFC 6265bis, section 5.1.4).
    static func path(_ folder: String, contains path: some StringProtocol) -> Bool {
        guard path.utf8.starts(with: folder.utf8) else { return false }
        let slash = UInt8(ascii: "/")
        let next = path.utf8.dropFirst(folder.utf8.count).first
        return next == nil || next == slash || folder.utf8.last == slash
    }
}

extension Cookie: Codable {
    /// Takes what `encode` has written, and refuses what is no cookie.
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
    /// Name and place: `Cookie(sid, example.com/)`.
    public var description: String { "Cookie(\(name), \(domain)\(path))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
