/// An interceptor that sends a key with every request, in a header field or a query item. If the request already has a
/// field or item of this name, the interceptor does not add the key.
public struct APIKeyAuthentication: RequestInterceptor {
    /// The part of the request that carries the key.
    public enum Place: Sendable, Hashable {
        /// In the header field of this name. If a redirect leads to another origin, the field is removed.
        case header(String)
        /// In the query item of this name.
        ///
        /// Servers, proxies and browsers write URLs to their logs, so prefer a header field if the server accepts one.
        /// The library's logs and descriptions hide the key.
        case query(String)
    }

    @Redacted private var key: String
    private let place: Place
    private let scope: CredentialScope

    /// Creates an adapter that sends the key to these origins; to all by default.
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
            // Mark the item as secret in two places. The mark in the options remains if a later adapter replaces the
            // URL. The mark in the URL hides the item in the error of a later adapter, because the error has only the
            // URL.
            request.options.confidentialQueryItems.append(name)
            defer { request.url = request.url.hidingQueryItems([name]) }
            guard !items.contains(where: { $0.hasPrefix(item) }) else { return }
            request.url = try request.url.appendingQuery(item + key.percentEncoded)
        }
    }

    /// Retries nothing, because a key cannot be renewed.
    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        .doNotRetry
    }
}

extension RequestAdapter where Self == APIKeyAuthentication {
    /// Returns an adapter that sends a key with every request to these origins.
    public static func apiKey(
        _ key: String, in place: APIKeyAuthentication.Place = .header("X-API-Key"),
        for scope: CredentialScope = .anywhere
    ) -> Self {
        APIKeyAuthentication(key, in: place, for: scope)
    }
}
