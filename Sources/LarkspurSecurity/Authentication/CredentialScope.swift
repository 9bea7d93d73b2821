/// The origins to which a credential may be sent. An origin is a scheme, a host and a port.
///
///     .apiKey(key, for: "https://api.example.com")
public struct CredentialScope: Sendable {
    /// The origins; nil for all origins. A failure says why one of the origins is invalid.
    private let origins: Result<[RequestURL.Origin], RequestError>?

    /// All origins: every request gets the credential.
    ///
    /// Use this scope only for a session that talks to one server, and never requests a URL that another server
    /// chooses. Otherwise, name the origins.
    ///
    /// For example, the server of a resumable upload chooses the URL to which the bytes are sent. Adapters add the
    /// credential to that request too, even if the URL has another origin.
    public static let anywhere = CredentialScope(origins: nil)

    /// Returns the origins of these URLs; their paths are ignored. An invalid URL makes every request fail.
    public static func origins(_ urls: [any URLConvertible]) -> CredentialScope {
        CredentialScope(
            origins: Result { () throws(RequestError) in
                try urls.map { url throws(RequestError) in try origin(of: url) }
            })
    }

    static func origin(of url: any URLConvertible) throws(RequestError) -> RequestURL.Origin {
        do {
            let url = try url.asRequestURL()
            guard url.isHTTP, url.host?.isEmpty == false else {
                throw RequestError(.invalidURL, "it is not an http or https URL with a host")
            }
            return url.origin
        } catch {
            throw RequestError(.invalidURL, "the origin of a credential is invalid: \(error)", underlying: error)
        }
    }

    /// Returns whether a request to this URL may carry the credential. Throws if an origin is invalid.
    public func contains(_ url: RequestURL) throws -> Bool {
        guard let origins = try origins?.get() else { return true }
        return origins.contains(url.origin)
    }
}

extension CredentialScope: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    public init(stringLiteral url: String) { self = .origins([url]) }
    public init(arrayLiteral urls: String...) { self = .origins(urls) }
}
