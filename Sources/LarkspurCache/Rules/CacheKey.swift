/// The place of responses in a store: a URL, and the party to which they belong.
///
/// A request asks for its place several times, so the texts are hashed once.
package struct CachePlace: Hashable, Sendable {
    /// The URL without its fragment.
    package let url: String
    /// Everything by which responses are kept apart: the credentials of the request, its `Host`, the transport's
    /// partition and the party that judges the server's certificates. A response is never served to another party.
    package let partition: String
    private let hash: Int

    package init(url: String, partition: String) {
        self.url = url
        self.partition = partition
        var hasher = Hasher()
        hasher.combine(url)
        if !partition.isEmpty { hasher.combine(partition) }
        hash = hasher.finalize()
    }

    package static func == (one: CachePlace, other: CachePlace) -> Bool {
        one.hash == other.hash && one.url == other.url && one.partition == other.partition
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// The place in which a cache looks for a response, and the cookies of the request.
///
/// Requests with equal keys may share an exchange. Cookies select a response only if it is not for everyone, so stores
/// compare them in the ``Selection`` of a response.
package struct CacheKey: Hashable, Sendable {
    package let place: CachePlace
    /// The cookies of the request; nil if it has none.
    let cookies: String?

    package var url: String { place.url }
    package var partition: String { place.partition }

    package init(url: String, partition: String) {
        place = CachePlace(url: url, partition: partition)
        cookies = nil
    }

    init(_ request: TransportRequest, _ instructions: CacheInstructions, _ transport: TransportPartition) {
        var parts: [String] = []
        var cookies: String?
        for field in request.fields {
            switch Distinction(of: field) {
            case .none: break
            case .cookies: cookies = cookies.map { "\($0); \(field.value)" } ?? field.value
            case .host: if let host = request.url.otherHost(field.value) { parts += ["host", host] }
            case .credential: parts += [field.name.lowercased(), field.value]
            }
        }
        self.cookies = cookies
        var partition = ""
        if !parts.isEmpty || !transport.key.isEmpty || !instructions.trust.isEmpty {
            // The lengths keep apart what the texts alone could mix up.
            partition = (parts + [transport.key, instructions.trust]).map { "\($0.utf8.count):\($0)" }.joined()
        }
        place = CachePlace(url: Self.url(of: request.url), partition: partition)
    }

    static func url(of url: RequestURL) -> String {
        url.fragment == nil ? url.text : String(url.originText + url.target)
    }
}

/// The way in which a request field tells one user or one server from another.
///
/// Credentials are all fields whose values logs hide, such as `Authorization` and `X-API-Key`. Servers often forget to
/// name them in `Vary`.
private enum Distinction {
    case none, cookies, host, credential

    init(of field: HTTPHeader) {
        switch field.name {
        case "Cookie": self = .cookies
        case _ where field.isSecret: self = field.isCookie ? .cookies : .credential
        // Frequent fields, which need no closer look. To compare so few texts takes less time than to hash one.
        case "Accept-Encoding", "Accept-Language", "User-Agent", "Accept", "Content-Type", "Cache-Control",
            "If-None-Match", "Range", "traceparent":
            self = .none
        case _ where field.isCookie: self = .cookies
        case let name where name.utf8.count == 4 && HTTPHeaders.areEqual(name, "Host"): self = .host
        default: self = Redaction.isCredential(field.name) ? .credential : .none
        }
    }
}

extension HTTPHeader {
    var isCookie: Bool { name.utf8.count == 6 && HTTPHeaders.areEqual(name, "Cookie") }
}

extension RequestURL {
    /// Returns the host of a `Host` field in lower case and without a default port; nil if it is that of the URL.
    fileprivate func otherHost(_ field: String) -> String? {
        let own = originText.utf8.dropFirst(scheme.utf8.count + 3)
        if own.elementsEqual(field.utf8) { return nil }
        let standard = isHTTPS ? ":443" : ":80"
        let host = field.lowercased()
        let name = host.hasSuffix(standard) ? String(host.dropLast(standard.utf8.count)) : host
        return own.elementsEqual(name.utf8) ? nil : name
    }
}
