internal import CLarkspur

extension CurlTransport.Configuration {
    /// The location of a host, used instead of the system's lookup.
    public enum HostPlace: Hashable, Sendable {
        /// One of these IP addresses.
        case addresses([String])
        /// A Unix-domain socket in the file system. The connection uses no proxy.
        case unixSocket(path: String)
    }

    /// The local address in libcurl's syntax. A prefix tells libcurl whether the text is an IP address or the name of
    /// an interface, so libcurl never looks the text up as a host name.
    var interface: String? {
        localAddress.map { address in
            IPAddress.bytes(address) == nil ? "if!" + address : "host!" + address.filter { $0 != "[" && $0 != "]" }
        }
    }
}

/// The route of a transfer to its host, if the connection is not direct.
struct CurlRoute: Equatable {
    var proxy: Proxy?
    var unixSocket: String?
    /// The value of `CURLOPT_RESOLVE`, `host:port:address,address`; nil if no addresses are given.
    var lookup: String?

    /// Returns whether the proxy receives the request itself, with the whole URL as its target.
    func handsOver(_ url: RequestURL) -> Bool {
        (proxy?.kind == .http || proxy?.kind == .https) && !url.isHTTPS
    }

    /// Returns whether the proxy opens a tunnel to the host.
    func tunnels(to url: RequestURL) -> Bool {
        (proxy?.kind == .http || proxy?.kind == .https) && url.isHTTPS
    }

    /// The proxy if libcurl answers its challenges, otherwise nil.
    var asker: Proxy? {
        guard let proxy, proxy.authentication == .digest, proxy.username != nil else { return nil }
        return proxy.kind == .http || proxy.kind == .https ? proxy : nil
    }

    /// Returns whether libcurl must parse the whole URL and not only its origin. The answer to a proxy's challenge
    /// contains the target of the parsed URL. Before 7.75, a request that the proxy itself receives, without a tunnel,
    /// also has the target of the parsed URL.
    func needsWholeURL(_ url: RequestURL) -> Bool {
        answersChallenge(to: url) || handsOver(url) && !CurlLibrary.current.handsOverTargets
    }

    /// Returns whether libcurl answers a proxy's challenge to the request itself, and then sends the request again.
    func answersChallenge(to url: RequestURL) -> Bool { asker != nil && !url.isHTTPS }
}

final class CurlRoutes: Sendable {
    private let proxies: Proxies
    private let places: [String: CurlTransport.Configuration.HostPlace]
    private let isDirect: Bool
    /// The error if the configuration is not valid, otherwise nil. If there is an error, the transport sends no
    /// request.
    let problem: TransportError?

    init(_ configuration: CurlTransport.Configuration) {
        proxies = configuration.proxies
        isDirect = proxies == .none && configuration.hosts.isEmpty
        var places: [String: CurlTransport.Configuration.HostPlace] = [:]
        var problem: TransportError?
        for (host, place) in configuration.hosts {
            guard let url = try? RequestURL("x://\(host)"), let name = Self.name(of: url), url.user == nil,
                url.target.isEmpty, url.fragment == nil
            else {
                let message =
                    "\(host.debugDescription) in the configuration's hosts is not a host, with a port or without"
                problem = TransportError(.unavailable, message)
                continue
            }
            if Self.isSound(place, for: name) {
                places[url.port.map { "\(name):\($0)" } ?? name] = place
            } else {
                let message =
                    "the place of \(host) in the configuration's hosts is not a valid list of addresses or socket"
                problem = TransportError(.unavailable, message)
            }
        }
        if let address = configuration.localAddress, address.isEmpty || address.contains("\0") {
            problem = TransportError(.unavailable, "the local address is empty or contains a NUL byte")
        }
        self.places = places
        self.problem = problem
    }

    /// The maximum length of a socket's path in bytes.
    private static let longestPath = 107

    /// Returns whether libcurl can use the place for a host. libcurl cannot map an IP address to another IP address. It
    /// also treats a dash before a name as a command to remove the name.
    private static func isSound(_ place: CurlTransport.Configuration.HostPlace, for name: String) -> Bool {
        switch place {
        case .addresses(let addresses):
            !addresses.isEmpty && addresses.allSatisfy { IPAddress.bytes($0) != nil } && !name.hasPrefix("-")
                && !name.hasPrefix("[")
        case .unixSocket(let path): (1...longestPath).contains(path.utf8.count) && !path.contains("\0")
        }
    }

    /// Returns the host: an IPv6 address in brackets, a name without its final dot.
    private static func name(of url: RequestURL) -> String? {
        guard let host = url.host, !host.isEmpty else { return nil }
        return host.contains(":") ? "[\(host)]" : String(host.hasSuffix(".") ? host.dropLast() : host)
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// Returns the route to a URL; nil for most URLs, whose connections are direct.
    func route(to url: RequestURL) -> CurlRoute? {
        guard !isDirect, let name = Self.name(of: url), let host = url.host, let port = url.effectivePort else {
            return nil
        }
        var route = CurlRoute()
        switch places["\(name):\(port)"] ?? places[name] {
        case .unixSocket(let path)?:
            route.unixSocket = path
            return route
        case .addresses(let addresses)?:
            route.lookup = "\(host):\(port):\(addresses.joined(separator: ","))"
        case nil: break
        }
        route.proxy = proxies.proxy(for: url)
        // libcurl sends only the first address of a host to a SOCKS 5 proxy. From 8.0 on, the first address of
        // `localhost` is the IPv6 address. This lookup makes the IPv4 address the first.
        if route.proxy?.kind == .socks5, route.lookup == nil, Self.isLoopback(host) {
            route.lookup = "\(host):\(port):127.0.0.1,[::1]"
        }
        return route == CurlRoute() ? nil : route
    }
}

/// A list of one line in libcurl's form. libcurl does not copy the list, so the owner keeps it alive.
final class CurlLine {
    let pointer = UnsafeMutablePointer<clarkspur_line>.allocate(capacity: 1)

    init(_ text: String) {
        let bytes = text.utf8CString
        let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        pointer.initialize(to: clarkspur_line(text: copy.baseAddress, next: nil))
    }

    deinit {
        pointer.pointee.text.deallocate()
        pointer.deallocate()
    }
}
