/// A server through which connections are made.
///
///     try Proxy("http://user:secret@proxy.example.com:3128")
///
/// Descriptions of a proxy do not show the password.
public struct Proxy: Hashable, Sendable {
    /// The protocol of a proxy.
    public enum Kind: String, Sendable {
        /// HTTP/1.1. The proxy receives requests for `http` URLs, and opens tunnels for `https` URLs.
        case http
        /// HTTP/1.1 over TLS. The transport must trust the proxy's certificate.
        case https
        /// SOCKS 5, with names that the client resolves.
        case socks5
        /// SOCKS 5, with names that the proxy resolves.
        case socks5h
    }

    /// How the client authenticates to an HTTP proxy.
    public enum Authentication: Sendable {
        /// Basic: each request carries the credential, without a challenge (RFC 7617).
        case basic
        /// Digest: the client answers a challenge of the proxy, and does not send the password (RFC 7616).
        case digest
    }

    /// The protocol that the proxy speaks.
    public let kind: Kind
    /// The host's name or address; an IPv6 address has no brackets.
    public let host: String
    /// The port in the URL, or the default port of the scheme.
    public let port: Int
    /// The user's name, if the URL has one.
    public let username: String?
    /// The user's password, if the URL has one.
    public let password: String?
    /// The authentication scheme; Basic by default.
    public var authentication = Authentication.basic

    /// Parses a proxy's URL. The URL has a scheme (`http` by default), an optional user and password, a host, and a
    /// port. The default port depends on the scheme: 80 for `http`, 443 for `https`, 1080 for SOCKS.
    public init(_ text: String, authentication: Authentication = .basic) throws(TransportError) {
        let url: RequestURL
        do { url = try RequestURL(text.contains("://") ? text : "http://" + text) } catch {
            throw TransportError(.invalidProxy, "a proxy's URL cannot be read: \(error)", underlying: error)
        }
        guard let kind = Kind(rawValue: String(url.scheme)), let host = url.host, !host.isEmpty else {
            throw TransportError(
                .invalidProxy, "a proxy's URL has a host and one of the schemes http, https, socks5, socks5h")
        }
        guard ["", "/"].contains(url.path), url.query == nil else {
            throw TransportError(.invalidProxy, "a proxy's URL ends with the port: a proxy has no path")
        }
        self.kind = kind
        self.host = String(host)
        self.authentication = authentication
        port = url.port ?? (kind == .http ? 80 : kind == .https ? 443 : 1_080)
        (username, password) = (url.user, url.password)
        // SOCKS has one byte for the length of the user's name, and one for the length of the password (RFC 1929).
        guard kind == .http || kind == .https || [username, password].allSatisfy({ ($0 ?? "").utf8.count < 256 }) else {
            throw TransportError(.invalidProxy, "SOCKS takes no more than 255 bytes of user or password")
        }
    }

    /// The proxy's URL without user and password, in libcurl's syntax.
    var text: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "\(kind.rawValue)://\(host):\(port)"
    }
}

extension Proxy: CustomStringConvertible, CustomReflectable {
    public var description: String { text }
    /// Keeps `dump` from showing the password, which the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
