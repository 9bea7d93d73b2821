/// Sends a key with every request, in a header field or a query item. What a request says itself under that name stands.
public struct APIKeyAuthentication: RequestInterceptor {
    /// Where in a request the key goes.
    public enum Place: Sendable, Hashable {
        /// It does not follow a redirect to another origin.
        case header(String)
        /// Servers, proxies and browsers write URLs into logs: where there is a choice, take a header. The library's own logs and
        /// descriptions hide the key.
        case query(String)
    }

    @Hidden private var key: String
    private let place: Place
    private let scope: CredentialScope

    /// Sends the key to these origins.
    public init(_ key: String, in place: Place = .header("X-API-Key"), for scope: CredentialScope = .anywhere) {
        self.key = key
        self.place = place
        self.scope = scope
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        guard try scope.contains(request.url) else { return }
        switch place {
        case .header(let name):
            if request.headers[name] == nil { request.headers.add(HTTPHeader(name: name, value: key, isSecret: true)) }
            request.options.confidentialHeaders.append(name)
        case .query(let name):
            let item = name.percentEncoded + "="
            let items = request.url.query?.split(separator: "&") ?? []
            // Marked in both: an adapter after this one may fail, or put another URL in place of this one.
            request.options.confidentialQueryItems.append(name)
            defer { request.url = request.url.hidingQueryItems([name]) }
            guard !items.contains(where: { $0.hasPrefix(item) }) else { return }
            request.url = try request.url.appendingQuery(item + key.percentEncoded)
        }
    }
}

extension RequestAdapter where Self == APIKeyAuthentication {
    /// A key, sent with every request to these origins.
    public static func apiKey(
        _ key: String, in place: APIKeyAuthentication.Place = .header("X-API-Key"),
        for scope: CredentialScope = .anywhere
    ) -> Self {
        APIKeyAuthentication(key, in: place, for: scope)
    }
}
