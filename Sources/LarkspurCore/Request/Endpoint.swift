/// The description of an API's request and of the type of its response: method, path, fields, body and serializer.
///
///     extension Endpoint where Response == [User] {
///         static func users(page: Int) -> Self { Endpoint(.get, "users", query: ["page": page]) }
///     }
///     extension Endpoint where Response == User {
///         static func create(_ user: NewUser) -> Self { Endpoint(.post, "users", body: .json(user)) }
///     }
///
///     let session = Session(configuration: SessionConfiguration { $0.baseURL = "https://api.example.com/v1" })
///     let ada = try await session.send(.create(NewUser(name: "Ada")))
///
/// An endpoint is a value that is independent of a session. The session that sends the endpoint has the base URL, the
/// credentials and all other settings that requests share.
public struct Endpoint<Response: Sendable>: Sendable {
    /// The HTTP method.
    public var method: HTTPMethod
    /// The URL, relative to the session's base URL or absolute.
    public var path: any URLConvertible
    /// The header fields of the request, in addition to the session's header fields.
    public var headers: HTTPHeaders
    /// Options that take precedence over the session's options. A login, for example, sets `usesCredentials` to false.
    public var options = RequestOptions()
    let query: RequestContent?
    let body: RequestContent?
    package let serialize: @Sendable (DataRequest) -> DataTask<Response>

    /// Creates an endpoint whose response is serialized by a serializer.
    ///
    /// - Parameter query: Keys and values that are added to the path's own query.
    public init(
        _ method: HTTPMethod, _ path: any URLConvertible, query: (any Encodable & Sendable)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, serializer: some ResponseSerializer<Response>
    ) {
        self.init(method, path, query, headers, body) { $0.serializingResponse(using: serializer) }
    }

    private init(
        _ method: HTTPMethod, _ path: any URLConvertible, _ query: (any Encodable & Sendable)?, _ headers: HTTPHeaders,
        _ body: RequestContent?, _ serialize: @escaping @Sendable (DataRequest) -> DataTask<Response>
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.query = query.map { .encoded($0, by: .urlEncodedForm(destination: .queryString)) }
        self.body = body
        self.serialize = serialize
    }
}

extension Endpoint where Response: Decodable {
    /// Creates an endpoint whose response is decoded by the session's decoder.
    public init(
        _ method: HTTPMethod, _ path: any URLConvertible, query: (any Encodable & Sendable)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil
    ) {
        self.init(method, path, query, headers, body) { $0.serializingDecodable() }
    }
}

extension Endpoint where Response == Data {
    /// Creates an endpoint whose response is the body, unchanged.
    public init(
        _ method: HTTPMethod, _ path: any URLConvertible, query: (any Encodable & Sendable)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil
    ) {
        self.init(method, path, query, headers, body) { $0.serializingData() }
    }
}

extension Endpoint where Response == String {
    /// Creates an endpoint whose response is text.
    public init(
        _ method: HTTPMethod, _ path: any URLConvertible, query: (any Encodable & Sendable)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil
    ) {
        self.init(method, path, query, headers, body) { $0.serializingString() }
    }
}

extension Endpoint where Response == JSON {
    /// Creates an endpoint whose response is JSON of any structure.
    public init(
        _ method: HTTPMethod, _ path: any URLConvertible, query: (any Encodable & Sendable)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil
    ) {
        self.init(method, path, query, headers, body) { $0.serializingJSON() }
    }
}

extension Endpoint where Response == Void {
    /// Creates an endpoint whose response has no value, only success or failure.
    public init(
        _ method: HTTPMethod, _ path: any URLConvertible, query: (any Encodable & Sendable)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil
    ) {
        self.init(method, path, query, headers, body) { $0.serializingResponse(using: NothingSerializer()) }
    }
}

private struct NothingSerializer: ResponseSerializer {
    func serialize(_ exchange: CompletedExchange) {}
}

extension Session {
    /// Creates the endpoint's request, which `ResponseValidator.standard` validates. You can attach serializers,
    /// monitors and other settings to the request. A setting of the request, such as `timeout(_:)`, counts more than
    /// the endpoint's ``Endpoint/options``.
    public func request<Response>(_ endpoint: Endpoint<Response>) -> DataRequest {
        let content = RequestContent { request in
            try endpoint.query?.write(&request)
            try endpoint.body?.write(&request)
        }
        let origin = RequestSource.Origin.endpoint(
            endpoint.path, endpoint.method, endpoint.headers, endpoint.options)
        let source = RequestSource(origin, content: content)
        return DataRequest(core: makeCore(source, nil, nil)).validate()
    }

    /// Sends the endpoint's request and returns the response's value. Throws every failure, including a status outside
    /// of 200..<300.
    public nonisolated func send<Response>(_ endpoint: Endpoint<Response>) async throws -> Response {
        try await endpoint.serialize(await request(endpoint)).value
    }
}

extension Endpoint: CustomStringConvertible, CustomReflectable {
    /// The method and the path, without user, password and other secrets.
    public var description: String { "\(method) \(Redaction.shown(path))" }
    /// A mirror without children, because the stored properties may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
