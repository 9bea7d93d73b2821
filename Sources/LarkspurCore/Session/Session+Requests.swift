// Requests whose response is held in memory. Every function that makes requests takes a target: a URL in any form, or a
// complete request.

extension Session {
    /// Makes a request. The request starts when you attach a serializer or call `resume()`.
    ///
    ///     let user = try await session.request("https://api.example.com/users/7").serializingJSON().value
    ///     let made = await session.request(url, method: .post, parameters: NewUser(name: "Ada"), encoder: .json)
    ///     let kept = await session.request(url, method: .put, body: .file(photo))
    ///
    /// - Parameters:
    ///   - target: A URL as text, `URL`, `URLComponents` or ``RequestURL``, relative to the session's base URL. Or a
    ///     complete request: an ``OutgoingRequest``, a `URLRequest` or a router. The target is converted again for each
    ///     attempt.
    ///   - method: The method. Nil, the default, means GET for a URL, and the request's own method for a complete
    ///     request.
    ///   - parameters: Any `Encodable` value, which the encoder puts into the query or into the body. If `body` is
    ///     given, the parameters go into the query. The request then fails with `.invalidRequest` if the encoder can
    ///     only make a body.
    ///   - encoder: The encoder of the parameters. Nil, the default, uses the session's encoder.
    ///   - headers: The header fields. In a complete request, they replace the fields with the same names.
    ///   - body: The content of the request. It replaces the body of a complete request. A GET with a body fails, so
    ///     pass another method. For `Data` write `.data(data)`.
    ///   - interceptor: An interceptor for this request, called after the session's interceptors.
    ///   - startsAutomatically: Whether attaching a serializer starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. It is called for each
    ///     attempt.
    @_specialize(where Parameters == JSON)  // for calls without parameters, which are the most frequent calls
    public func request<Parameters: Encodable & Sendable>(
        _ target: any RequestTarget, method: HTTPMethod? = nil,
        parameters: Parameters? = Optional<JSON>.none, encoder: (any ParameterEncoder)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return DataRequest(core: makeCore(source, interceptor, startsAutomatically))
    }

    /// Makes a request whose parameters are a literal of constants, which may be nested: `["page": 1, "tags": ["a", 2],
    /// "all": true]`. Nil sends no parameters.
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, parameters: JSON?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], body: RequestContent? = nil,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return DataRequest(core: makeCore(source, interceptor, startsAutomatically))
    }

    /// Makes a request whose parameters are a literal with variables of different types: `["name": name, "age": age]`.
    @_disfavoredOverload
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, parameters: MixedParameters,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], body: RequestContent? = nil,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return DataRequest(core: makeCore(source, interceptor, startsAutomatically))
    }

    /// Returns the content of a request with these parameters and this body; nil if both are nil.
    package nonisolated func content<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, _ encoder: (any ParameterEncoder)?, _ body: RequestContent?
    ) -> RequestContent? {
        guard let parameters else { return body }
        let encoder = encoder ?? configuration.encoder
        return RequestContent {
            try body?.write(&$0)
            try $0.encodeBesideBody(parameters, by: encoder)
        }
    }
}
