// Foundation's cookies, for programs that have some: nothing of this library goes by them.

extension Cookie {
    /// Takes over one of Foundation's; throws `.invalidCookie` for what none may be.
    ///
    /// On Linux Foundation's cookies do not know `SameSite`.
    public init(_ cookie: HTTPCookie) throws(RequestError) {
        var sameSite = SameSite.unspecified
        #if canImport(Darwin)
            sameSite = cookie.sameSitePolicy.flatMap { SameSite(rawValue: $0.rawValue.lowercased()) } ?? .unspecified
        #endif
        if sameSite == .none, !cookie.isSecure { sameSite = .unspecified }
        try self.init(
            name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: !cookie.domain.hasPrefix("."),
            path: cookie.path, expires: cookie.expiresDate, isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly, sameSite: sameSite)
    }
}

extension HTTPCookie {
    /// A cookie of this library's as one of Foundation's; nil for what that does not take, a cookie without a name for one.
    public convenience init?(_ cookie: Cookie) {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .version: "0", .name: cookie.name, .value: cookie.value, .path: cookie.path,
            .domain: cookie.isHostOnly ? cookie.domain : "." + cookie.domain,
        ]
        properties[.expires] = cookie.expires
        if cookie.expires == nil { properties[.discard] = "TRUE" }
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        #if canImport(Darwin)
            switch cookie.sameSite {
            case .strict: properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteStrict
            case .lax: properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteLax
            case .none, .unspecified: break
            }
        #endif
        self.init(properties: properties)
    }
}

extension CookieJar {
    /// Takes over the cookies of Foundation's storage; those that none may be are left out.
    public func setCookies(of storage: HTTPCookieStorage) {
        for cookie in storage.cookies ?? [] {
            if let cookie = try? Cookie(cookie) { set(cookie) }
        }
    }

    /// Gives the jar's cookies to Foundation's storage, for a web view for instance.
    public func copyCookies(to storage: HTTPCookieStorage) {
        for cookie in all.compactMap({ HTTPCookie($0) }) { storage.setCookie(cookie) }
    }
}
