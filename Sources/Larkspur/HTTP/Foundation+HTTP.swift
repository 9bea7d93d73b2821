// Foundation's values in the library's vocabulary, for routers and adapters that are written with them.

extension URLRequest {
    /// A request from its parts; throws what is wrong with the URL.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders = [:]) throws {
        guard let url = URL(string: try url.asRequestURL().text) else {
            throw RequestError(.invalidURL, "Foundation does not take this URL")
        }
        self.init(url: url)
        self.method = method
        self.headers = headers
    }

    /// The method; Foundation upper-cases some by itself.
    public var method: HTTPMethod {
        get { HTTPMethod(rawValue: httpMethod ?? "GET") }
        set { httpMethod = newValue.rawValue }
    }

    /// The fields, sorted by name: Foundation keeps neither order nor repeats.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
        set { allHTTPHeaderFields = newValue.dictionary }
    }
}

extension HTTPURLResponse {
    /// The fields, sorted by name: Foundation keeps neither order nor repeats; `ResponseHead` does.
    public var headers: HTTPHeaders {
        HTTPHeaders(
            allHeaderFields.compactMap { name, value in
                (name as? String).map { HTTPHeader(name: $0, value: "\(value)") }
            }
        ).sorted()
    }
}
