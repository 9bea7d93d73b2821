internal import CLarkspur

extension CurlTransport.Configuration {
    /// Where a host is, whatever the system's lookup would say.
    public enum HostPlace: Hashable, Sendable {
        /// At one of these addresses.
        case addresses([String])
        /// At a socket in the file system, and behind no proxy.
        case unixSocket(path: String)
    }

    /// The local address as libcurl takes it: told apart here, so that it never looks one up.
    var interface: String? {
        localAddress.map { address in
            IPAddress.bytes(address) == nil ? "if!" + address : "host!" + address.filter { $0 != "[" && $0 != "]" }
        }
    }
}

/// How a transfer gets to its host, if not directly.
struct CurlRoute: Equatable {
    var proxy: Proxy?
    var unixSocket: String?
    /// `host:port:address,address`, as libcurl takes it.
    var lookup: String?

    /// Whether the proxy is handed the request itself, with the whole URL for its target.
    func handsOver(_ url: RequestURL) -> Bool {
        (proxy?.kind == .http || proxy?.kind == .https) && !url.isHTTPS
    }

    /// Whether the proxy makes a tunnel to the host.
    func tunnels(to url: RequestURL) -> Bool {
        (proxy?.kind == .http || proxy?.kind == .https) && url.isHTTPS
    }

    /// The proxy if libcurl answers its challenges.
    var asker: Proxy? {
        guard let proxy, proxy.authentication == .digest, proxy.username != nil else { return nil }
        return proxy.kind == .http || proxy.kind == .https ? proxy : nil
    }

    /// Whether libcurl has to know the whole URL: in a challenge's answer stands the target of the URL that it parsed, and
    /// before 7.75 the request handed to a proxy has no other.
    func needsWholeURL(_ url: RequestURL) -> Bool {
        answersChallenge(to: url) || handsOver(url) && !CurlLibrary.current.handsOverTargets
    }

    /// Whether libcurl answers a proxy that has refused the request itself, and sends it once more.
    func answersChallenge(to url: RequestURL) -> Bool { asker != nil && !url.isHTTPS }
}

final class CurlRoutes {
    private let proxies: Proxies
    private let places: [String: CurlTransport.Configuration.HostPlace]
    private let isDirect: Bool
    /// What of the configuration makes no sense; requests are not sent then.
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
                    "the place of \(host) in the configuration's hosts is not a list of addresses, nor a socket"
                problem = TransportError(.unavailable, message)
            }
        }
        if let address = configuration.localAddress, address.isEmpty || address.contains("\0") {
            problem = TransportError(.unavailable, "the local address is none")
        }
        self.places = places
        self.problem = problem
    }

    /// A socket's path has room for so many bytes.
    private static let longestPath = 107

    /// libcurl cannot be told of an address that it is another one, and takes a dash before a name for an order.
    private static func isSound(_ place: CurlTransport.Configuration.HostPlace, for name: String) -> Bool {
        switch place {
        case .addresses(let addresses):
            !addresses.isEmpty && addresses.allSatisfy { IPAddress.bytes($0) != nil } && !name.hasPrefix("-")
                && !name.hasPrefix("[")
        case .unixSocket(let path): (1...longestPath).contains(path.utf8.count) && !path.contains("\0")
        }
    }

    /// The host, an address in brackets, a name without the dot that says that it is whole.
    private static func name(of url: RequestURL) -> String? {
        guard let host = url.host, !host.isEmpty else { return nil }
        return host.contains(":") ? "[\(host)]" : String(host.hasSuffix(".") ? host.dropLast() : host)
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// Nil for most.
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
        // libcurl hands a SOCKS proxy one address alone, and from 8.0 on the IPv6 one of this name is the first.
        if route.proxy?.kind == .socks5, route.lookup == nil, Self.isLoopback(host) {
            route.lookup = "\(host):\(port):127.0.0.1,[::1]"
        }
        return route == CurlRoute() ? nil : route
    }
}

/// A list of one line as libcurl takes it, which it does not copy.
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
