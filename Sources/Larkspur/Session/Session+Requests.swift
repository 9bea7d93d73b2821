// Requests whose response is held in memory. Every function that makes requests takes a target: a URL in any form, or a
// complete request.

extension Session {
    /// Makes a request. It starts when a serializer is attached, or with `resume()`.
    ///
    ///     let user = try await session.request("https://api.example.com/users/7").serializingJSON().value
    ///     let made = await session.request(url, method: .post, parameters: NewUser(name: "Ada"), encoder: .json)
    ///     let kept = await session.request(url, method: .put, body: .file(photo))
    ///
    /// - Parameters:
    ///   - target: A URL as text, `URL`, `URLComponents` or ``RequestURL``, relative to the session's base URL. Or a
    ///     complete request: an ``OutgoingRequest``, a `URLRequest` or a router. It is converted again for each attempt.
    ///   - method: The method. Nil, the default, is GET for a URL, and the own method of a complete request.
    ///   - parameters: Any `Encodable` value, for the query or the body as the encoder decides. If `body` is given, the
    ///     parameters go into the query; an encoder that would encode them as the body fails with `.invalidRequest`.
    ///   - encoder: The encoder of the parameters. Nil, the default, uses the session's encoder.
    ///   - headers: The header fields. They replace fields of a complete request with the same names.
    ///   - body: The content of the request. It replaces the body of a complete request. A GET with a body fails, so
    ///     name the method. For `Data` write `.data(data)`.
    ///   - interceptor: An interceptor for this request, called after those of the session.
    ///   - startsAutomatically: Whether a serializer starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A last change, before the parameters are encoded; called for each attempt.
    @_specialize(where Parameters == JSON)  // most calls have no parameters and are then not generic
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

    /// Makes a request with a literal of constants, nested in any way:
    /// `["page": 1, "tags": ["a", 2], "all": true]`. Nil sends no parameters.
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

    /// Makes a request with a literal of variables of different types: `["name": name, "age": age]`.
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

    /// Returns the content of a request with these parameters and this body; nil without both.
    nonisolated func content<Parameters: Encodable & Sendable>(
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
