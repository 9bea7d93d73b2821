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

    /// Makes such a request with parameters, which the encoder puts into the query or the body.
    ///
    /// - Parameters:
    ///   - parameters: Any `Encodable` value; nil sends none.
    ///   - encoder: Nil takes the session's encoder.
    public func streamRequest<Parameters: Encodable & Sendable>(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let source = RequestSource(
            .parts(url, method, headers), modifier: requestModifier, content: encoded(parameters, by: encoder))
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
    }

    /// Makes such a request with parameters of several types, written as a literal:
    /// `["page": 1, "tags": ["a", "b"], "all": true]`. Nil sends none.
    public func streamRequest(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: JSON?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let source = RequestSource(
            .parts(url, method, headers), modifier: requestModifier, content: encoded(parameters, by: encoder))
        return streamRequest(source, bufferSize, interceptor, startsAutomatically)
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
