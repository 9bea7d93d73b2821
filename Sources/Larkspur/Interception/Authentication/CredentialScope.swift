/// Where a credential may be sent: to these origins, each a scheme, host and port, and nowhere else.
///
///     .apiKey(key, for: "https://api.example.com")
public struct CredentialScope: Sendable {
    /// Nil for anywhere; or what was wrong with an origin.
    private let origins: Result<[RequestURL.Origin], RequestError>?

    /// To every host that is asked, whoever that is. Right for a session that talks to one server and follows no URLs that
    /// others name; else name the origins.
    ///
    /// Servers can name others: where an upload is made, the server says the URL that its bytes go to, and at another origin
    /// too the request gets what adapters put there.
    public static let anywhere = CredentialScope(origins: nil)

    /// The origins of these URLs, whose paths mean nothing. One that is no URL fails every request.
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
                throw RequestError(.invalidURL, "it is no http or https URL with a host")
            }
            return url.origin
        } catch {
            throw RequestError(.invalidURL, "an origin that credentials are for: \(error)", underlying: error)
        }
    }

    /// Whether a request to this URL may have the credential.
    public func contains(_ url: RequestURL) throws -> Bool {
        guard let origins = try origins?.get() else { return true }
        return origins.contains(url.origin)
    }
}

extension CredentialScope: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    public init(stringLiteral url: String) { self = .origins([url]) }
    public init(arrayLiteral urls: String...) { self = .origins(urls) }
}
