// Requests whose response body is read while it comes.

extension Session {
    /// Makes a request whose response body is read while it comes.
    ///
    ///     for try await chunk in await session.streamRequest(url).bytes { … }
    ///
    /// - Parameter bufferSize: How much of the body may wait for its readers, in bytes, before the peer is stopped.
    public func streamRequest(
        _ url: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders = [:],
        bufferSize: Int = 1 << 20, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let source = RequestSource(.parts(url, method, headers), modifier: requestModifier)
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
    }

    /// The same with parameters, which the encoder puts into the query or the body; nil takes the session's.
    public func streamRequest<Parameters: Encodable & Sendable>(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let encoder = encoder ?? configuration.encoder
        let content = parameters.map { RequestContent.encoded($0, by: encoder) }
        let source = RequestSource(.parts(url, method, headers), modifier: requestModifier, content: content)
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
    }

    /// The same with parameters of any kinds, written as a literal: `["page": 1, "tags": ["a", "b"], "all": true]`.
    public func streamRequest(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: JSON,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            url, method: method, parameters: Optional(parameters), encoder: encoder, headers: headers,
            bufferSize: bufferSize, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// The same from a value that can make a request; it is asked again at each attempt.
    public func streamRequest(
        _ convertible: any OutgoingRequestConvertible, bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let source = RequestSource(.convertible(convertible), modifier: requestModifier)
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
    }

    /// A further request from the same source and with these settings: a stream that is connected again.
    func streamRequest(like request: DataStreamRequest, _ settings: RequestSettings) -> DataStreamRequest {
        let next = streamRequest(request.handle.core.source, Int(request.hub.limit), nil, true)
        next.handle.core.read { $0.settings = settings }
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
