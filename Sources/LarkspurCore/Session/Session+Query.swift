// Requests whose query is named apart from their body.

extension Session {
    /// Makes a request with a query: any `Encodable` value, written as a form. It is added to the query of the URL, for
    /// every method.
    ///
    ///     let page = try await session.request("users", query: Page(number: 2)).serializingJSON().value
    ///
    /// `parameters:` does the same for GET, HEAD and DELETE. For other methods it makes a body.
    public func request<Query: Encodable & Sendable>(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: Query, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            target, method: method, parameters: query, encoder: .urlEncodedForm(destination: .queryString),
            headers: headers, body: body, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Makes a request with a query that is a literal of constants: `query: ["page": 2, "all": true]`.
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: JSON, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            target, method: method, parameters: query, encoder: .urlEncodedForm(destination: .queryString),
            headers: headers, body: body, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Makes a request with a query that is a literal with variables of different types.
    @_disfavoredOverload
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: MixedParameters, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            target, method: method, parameters: query, encoder: .urlEncodedForm(destination: .queryString),
            headers: headers, body: body, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Makes a request with query items, which are added to the query of the URL in their order. Names and values are
    /// escaped. An item without a value has no equals sign.
    ///
    ///     let page = await session.request("users", queryItems: [URLQueryItem(name: "page", value: "2")])
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, queryItems: [URLQueryItem], headers: HTTPHeaders = [:],
        body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            target, method: method, headers: headers, body: .query(queryItems, beside: body), interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }
}
