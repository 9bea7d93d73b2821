// Requests with a literal of variables that have different types. The overloads are disfavoured: a dictionary of one type
// and a literal without variables compile as before.

extension Session {
    /// Makes a request with parameters of different types: `["name": name, "age": age]`.
    @_disfavoredOverload
    public func request(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: MixedParameters,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let source = RequestSource(
            .parts(url, method, headers), modifier: requestModifier, content: encoded(parameters, by: encoder))
        return DataRequest(core: makeCore(source, interceptor, startsAutomatically))
    }

    /// Makes a request whose response body is read while it comes, with parameters of different types:
    /// `["name": name, "age": age]`.
    @_disfavoredOverload
    public func streamRequest(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: MixedParameters,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            url, method: method, parameters: Optional(parameters), encoder: encoder, headers: headers,
            bufferSize: bufferSize, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Downloads to a file, with parameters of different types: `["name": name, "age": age]`.
    @_disfavoredOverload
    public func download(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: MixedParameters,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            url, method: method, parameters: Optional(parameters), encoder: encoder, headers: headers, to: destination,
            options: options, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// What a request carries for these parameters; nil for none. Without an encoder the session's is taken.
    nonisolated func encoded<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, by encoder: (any ParameterEncoder)?
    ) -> RequestContent? {
        let encoder = encoder ?? configuration.encoder
        return parameters.map { .encoded($0, by: encoder) }
    }
}
