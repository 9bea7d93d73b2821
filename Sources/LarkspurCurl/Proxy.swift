/// A server through which connections are made.
///
///     try Proxy("http://user:secret@proxy.example.com:3128")
///
/// No description of it shows the password.
public struct Proxy: Hashable, Sendable {
    /// What a proxy speaks.
    public enum Kind: String, Sendable {
        /// HTTP/1.1: requests for `http` URLs are handed to it, for `https` it opens a tunnel.
        case http
        /// The same over TLS. The proxy's certificate must be one that the transport believes.
        case https
        /// SOCKS 5, with addresses that are looked up here.
        case socks5
        /// SOCKS 5, with names that the proxy looks up.
        case socks5h
    }

    /// How an HTTP proxy is told who asks.
    public enum Authentication: Sendable {
        /// With each request, unasked (RFC 7617).
        case basic
        /// When it has asked (RFC 7616): the password does not go over the wire.
        case digest
    }

    /// What it speaks.
    public let kind: Kind
    /// An IPv6 address without brackets.
    public let host: String
    /// Its own, or that of its scheme.
    public let port: Int
    /// Who asks, if it wants to know.
    public let username: String?
    /// The user's password.
    public let password: String?
    /// Basic by default.
    public var authentication = Authentication.basic

    /// Reads a proxy's URL: scheme (`http` if there is none), user and password where it wants them, host, port (80, 443 or
    /// 1080 by its scheme).
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
        // SOCKS has one byte for the length of each (RFC 1929).
        guard kind == .http || kind == .https || [username, password].allSatisfy({ ($0 ?? "").utf8.count < 256 }) else {
            throw TransportError(.invalidProxy, "SOCKS takes no more than 255 bytes of user or password")
        }
    }

    /// As libcurl takes it.
    var text: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "\(kind.rawValue)://\(host):\(port)"
    }
}

extension Proxy: CustomStringConvertible, CustomReflectable {
    public var description: String { text }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
