/// The origins that a credential may be sent to, each a scheme, host and port.
///
///     .apiKey(key, for: "https://api.example.com")
public struct CredentialScope: Sendable {
    /// The origins; nil for all origins. A failure has the reason why an origin is invalid.
    private let origins: Result<[RequestURL.Origin], RequestError>?

    /// Every host that a request goes to.
    ///
    /// Use it only for a session that talks to one server and does not follow URLs that other servers choose. Name the
    /// origins otherwise.
    ///
    /// A server can choose URLs: the server of a resumable upload names the URL that gets the bytes. Adapters add the
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
