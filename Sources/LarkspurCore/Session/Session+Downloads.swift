// Requests whose response body goes to a file.

extension Session {
    /// Makes a request that downloads its response body to a file.
    ///
    ///     let file = try await session.download(url, to: .file(destination)).serializingFile().value
    ///
    /// - Parameters:
    ///   - target: A URL in any form, or a complete request.
    ///   - method: The method. Nil, the default, means GET for a URL, and the request's own method for a complete
    ///     request.
    ///   - parameters: Any `Encodable` value, which the encoder puts into the query or into the body. If the request
    ///     has a body, the parameters go into the query.
    ///   - encoder: The encoder of the parameters. Nil, the default, uses the session's encoder.
    ///   - headers: The header fields. In a complete request, they replace the fields with the same names.
    ///   - body: The content of the request. A GET with a body fails, so pass another method.
    ///   - destination: The place of the file. Nil, the default, means the session's
    ///     ``SessionConfiguration/downloadDestination``, or a temporary file, which the caller moves or removes.
    ///   - options: The treatment of an existing file and of missing folders.
    ///   - interceptor: An interceptor for this request, called after the session's interceptors.
    ///   - startsAutomatically: Whether attaching a serializer starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. It is called for each
    ///     attempt.
    public func download<Parameters: Encodable & Sendable>(
        _ target: any RequestTarget, method: HTTPMethod? = nil,
        parameters: Parameters? = Optional<JSON>.none, encoder: (any ParameterEncoder)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return download(source, destination, options, interceptor, startsAutomatically)
    }

    /// Makes a download request whose parameters are a literal with values of different types:
    /// `["name": name, "all": true]`. Nil sends no parameters. A nested literal needs `as JSON`.
    @_disfavoredOverload
    public func download(
        _ target: any RequestTarget, method: HTTPMethod? = nil, parameters: MixedParameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], body: RequestContent? = nil,
        to destination: Destination? = nil, options: [DownloadOption] = [],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(
            target, method, headers, modifier: requestModifier, content: content(parameters, encoder, body))
        return download(source, destination, options, interceptor, startsAutomatically)
    }

    /// Makes a request that continues a download which has ended early. The modifier and the adapters run as for any
    /// other request, so they can add the current credentials.
    public func download(
        resuming record: DownloadRecord, headers: HTTPHeaders = [:], to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(.parts(record.url, .get, headers), modifier: requestModifier)
        return download(source, destination, options, interceptor, startsAutomatically, resuming: record)
    }

    private func download(
        _ source: RequestSource, _ destination: Destination?, _ options: [DownloadOption],
        _ interceptor: (any RequestInterceptor)?, _ startsAutomatically: Bool?, resuming record: DownloadRecord? = nil
    ) -> DownloadRequest {
        let destination = destination ?? context.configuration.downloadDestination
        let file = DownloadFile(destination, options, resuming: record, on: context.files)
        return DownloadRequest(core: makeCore(source, interceptor, startsAutomatically, file), file: file)
    }
}
