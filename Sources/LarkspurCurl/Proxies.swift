/// The proxies for `http` and `https` URLs, and the hosts that are reached directly.
///
///     try Proxies(Proxy("http://proxy.example.com:3128"), except: ["internal.example.com", "10.0.0.0/8"])
public struct Proxies: Hashable, Sendable {
    /// No proxy: all connections are direct.
    public static let none = Proxies()

    /// The proxy for `http` URLs; nil means direct connections.
    public var http: Proxy?
    /// The proxy for `https` URLs; nil means direct connections.
    public var https: Proxy?
    private var exceptions: [ProxyException] = []

    private init() {}

    /// Creates a value with one proxy for all requests.
    ///
    /// - Parameter exceptions: The hosts that are reached directly, each with or without a port. A name covers itself
    ///   and all names below it; `.name` covers only the names below it. An exception may also be an address, a range
    ///   of addresses such as `10.0.0.0/8` or `fd00::/8`, or `*` for every host. Names are not resolved to compare
    ///   their addresses with a range.
    public init(_ proxy: Proxy, except exceptions: [String] = []) throws(TransportError) {
        try self.init(http: proxy, https: proxy, except: exceptions)
    }

    /// Creates a value with a proxy for each scheme.
    public init(http: Proxy? = nil, https: Proxy? = nil, except exceptions: [String] = []) throws(TransportError) {
        (self.http, self.https) = (http, https)
        for text in exceptions {
            guard let exception = ProxyException(text) else {
                throw TransportError(
                    .invalidProxy,
                    "the proxy exception \(Redaction.quoted(text)) is not valid; write a host (example.com), "
                        + "the names below it (.example.com), an address, a range (10.0.0.0/8) or *, without a scheme"
                )
            }
            self.exceptions.append(exception)
        }
    }

    /// Returns the proxies that these environment variables name: `http_proxy`, `https_proxy`, `all_proxy` for both,
    /// and `no_proxy` for the exceptions. Invalid exceptions are skipped. Each variable may also be in capitals, except
    /// `HTTP_PROXY`, which is ignored: if a web server runs the program (CGI), a client can set this variable with a
    /// `Proxy` field.
    public static func environment(
        _ variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws(TransportError) -> Proxies {
        func value(_ name: String) -> String? {
            let text = variables[name] ?? (name == "http_proxy" ? nil : variables[name.uppercased()])
            return text == "" ? nil : text
        }
        var proxies = Proxies()
        if let text = value("http_proxy") ?? value("all_proxy") { proxies.http = try Proxy(text) }
        if let text = value("https_proxy") ?? value("all_proxy") { proxies.https = try Proxy(text) }
        let exceptions = (value("no_proxy") ?? "").split { $0 == "," || $0.isWhitespace }
        proxies.exceptions = exceptions.compactMap { ProxyException(String($0)) }
        return proxies
    }

    /// Returns the proxy for a request to this URL; nil for a direct connection.
    public func proxy(for url: RequestURL) -> Proxy? {
        guard let proxy = url.isHTTPS ? https : http, !exceptions.contains(where: { $0.covers(url) }) else {
            return nil
        }
        return proxy
    }
}

/// A host, or several hosts, to which connections are direct.
private struct ProxyException: Hashable, Sendable {
    private enum Hosts: Hashable {
        case all
        case name(String, isIncluded: Bool)
        case range(address: [UInt8], bits: Int)
    }

    private let hosts: Hosts
    private let port: Int?

    /// Parses an exception. Returns nil if the text is not valid.
    init?(_ text: String) {
        var rest = text.lowercased()[...]
        port = Self.takePort(&rest)
        if rest == "*" {
            hosts = .all
        } else if let range = Self.range(rest) {
            hosts = range
        } else {
            let isIncluded = !rest.hasPrefix(".") && !rest.hasPrefix("*.")
            if !isIncluded { rest = rest.drop { $0 == "*" }.dropFirst() }
            // The host is parsed as in a URL, and the final dot of a fully qualified name is dropped.
            guard let host = try? RequestURL("http://\(rest)/").host, !rest.contains(where: { "/@?#:".contains($0) })
            else { return nil }
            hosts = .name(Self.bare(host), isIncluded: isIncluded)
        }
    }

    /// Removes and returns the port that follows a name or an address in brackets; nil if there is no port.
    private static func takePort(_ text: inout Substring) -> Int? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            text[..<colon].last == "]" || !text[..<colon].contains(":")
        else { return nil }
        text = text[..<colon]
        return Int(port)
    }

    private static func range(_ text: Substring) -> Hosts? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress.bytes(parts[0]) else { return nil }
        guard parts.count == 2 else { return .range(address: address, bits: address.count * 8) }
        guard let bits = UInt8(parts[1]), bits <= address.count * 8 else { return nil }
        return .range(address: address, bits: Int(bits))
    }

    private static func bare(_ host: Substring) -> String { String(host.hasSuffix(".") ? host.dropLast() : host) }

    func covers(_ url: RequestURL) -> Bool {
        guard let host = url.host, port == nil || port == url.effectivePort else { return false }
        switch hosts {
        case .all: return true
        case .name(let name, let isIncluded):
            let host = Self.bare(host)
            return isIncluded && host == name || host.hasSuffix("." + name)
        case .range(let address, let bits):
            guard let bytes = IPAddress.bytes(host), bytes.count == address.count else { return false }
            return (0..<bits).allSatisfy { bit in (bytes[bit / 8] ^ address[bit / 8]) & (0x80 >> (bit % 8)) == 0 }
        }
    }
}
