#if Foundation || canImport(Darwin)
    // Conversions from and to Foundation's cookies, for programs that use both kinds. Sessions never read Foundation's
    // cookies.

    extension Cookie {
        /// Creates a cookie from a Foundation cookie. Throws `.invalidCookie` if the Foundation cookie is not valid as
        /// a ``Cookie``.
        ///
        /// On Linux, Foundation's cookies have no `SameSite` attribute, so ``Cookie/sameSite-swift.property`` is
        /// `.unspecified`.
        public init(_ cookie: HTTPCookie) throws(RequestError) {
            var sameSite = SameSite.unspecified
            #if canImport(Darwin)
                sameSite =
                    cookie.sameSitePolicy.flatMap { SameSite(rawValue: $0.rawValue.lowercased()) } ?? .unspecified
            #endif
            if sameSite == .none, !cookie.isSecure { sameSite = .unspecified }
            try self.init(
                name: cookie.name, value: cookie.value, domain: cookie.domain,
                isHostOnly: !cookie.domain.hasPrefix("."),
                path: cookie.path, expires: cookie.expiresDate, isSecure: cookie.isSecure,
                isHTTPOnly: cookie.isHTTPOnly, sameSite: sameSite)
        }
    }

    extension HTTPCookie {
        /// Creates a Foundation cookie from a ``Cookie``; nil if Foundation rejects it, for example because its name is
        /// empty.
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
        /// Stores the cookies of a Foundation storage in the jar, except those that are not valid as a ``Cookie``.
        public func setCookies(of storage: HTTPCookieStorage) {
            for cookie in storage.cookies ?? [] {
                if let cookie = try? Cookie(cookie) { set(cookie) }
            }
        }

        /// Copies the jar's cookies to a Foundation storage, for example for a web view.
        public func copyCookies(to storage: HTTPCookieStorage) {
            for cookie in all.compactMap({ HTTPCookie($0) }) { storage.setCookie(cookie) }
        }
    }
#endif
