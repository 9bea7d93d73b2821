// Requests whose response body is read while it is received.

extension Session {
    /// Makes a request whose response body is read while it is received.
    ///
    ///     for try await chunk in await session.streamRequest(url).bytes { … }
    ///     for try await event in await session.streamRequest(url, method: .post, body: .json(prompt)).serverSentEvents() { … }
    ///
    /// - Parameters:
    ///   - target: A URL in any form, or a complete request.
    ///   - method: The method. Nil, the default, means GET for a URL, and the request's own method for a complete
    ///     request.
    ///   - parameters: Any `Encodable` value, which the encoder puts into the query or into the body. If the request
    ///     has a body, the parameters go into the query.
    ///   - encoder: The encoder of the parameters. Nil, the default, uses the session's encoder.
    ///   - headers: The header fields. In a complete request, they replace the fields with the same names.
    ///   - body: The content of the request, which may be a sequence: `.sequence(moves)`. A GET with a body fails, so
    ///     pass another method.
    ///   - bufferSize: The maximum number of received bytes that wait for the readers; 1 MiB by default. While the
    ///     buffer is full, the server has to wait (back pressure).
    ///   - interceptor: An interceptor for this request, called after the session's interceptors.
    ///   - startsAutomatically: Whether the first reader starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. It is called for each
    ///     attempt.
    public func streamRequest<Parameters: Encodable & Sendable>(
        _ target: any RequestTarget, method: HTTPMethod? = nil,
        parameters: Parameters? = Optional<JSON>.none, encoder: (any ParameterEncoder)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
    }

    /// Makes a request whose response body is read while it is received. The parameters are a literal with values of
    /// different types: `["name": name, "all": true]`. Nil sends no parameters. A nested literal needs `as JSON`.
    @_disfavoredOverload
    public func streamRequest(
        _ target: any RequestTarget, method: HTTPMethod? = nil, parameters: MixedParameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], body: RequestContent? = nil,
        bufferSize: Int = 1 << 20, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
    }

    /// Returns a new request with the source of `request` and with these settings. An event stream uses it to connect
    /// again. The new request also has the readers of ``Session/events`` that were added after `request` was created.
    func streamRequest(like request: DataStreamRequest, _ settings: RequestSettings) -> DataStreamRequest {
        let next = streamRequest(request.handle.core.source, Int(request.hub.limit), nil, true)
        next.handle.core.read { state in
            let added = state.settings.monitors.filter { queue in !settings.monitors.contains { $0 === queue } }
            state.settings = settings
            if !added.isEmpty { state.settings.monitors += added }
        }
        return next
    }

    private func streamRequest(
        _ source: RequestSource, _ bufferSize: Int, _ interceptor: (any RequestInterceptor)?,
        _ startsAutomatically: Bool?
    ) -> DataStreamRequest {
        let hub = StreamHub(limit: bufferSize)
        return DataStreamRequest(core: makeCore(source, interceptor, startsAutomatically, hub), hub: hub)
    }
}
