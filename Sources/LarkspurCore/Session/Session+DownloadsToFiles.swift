// Downloads whose destination is the URL of a file.

extension Session {
    /// Makes a request that downloads its response body to the file at a URL, as `to: .file(url)` does.
    ///
    ///     let film = try await session.download(url, to: place).serializingFile().value
    public func download<Parameters: Encodable & Sendable>(
        _ target: any RequestTarget, method: HTTPMethod? = nil,
        parameters: Parameters? = Optional<JSON>.none, encoder: (any ParameterEncoder)? = nil,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, to file: URL,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            target, method: method, parameters: parameters, encoder: encoder, headers: headers, body: body,
            to: .file(file), options: options, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Makes a request that continues a download which has ended early, to the file at a URL.
    public func download(
        resuming record: DownloadRecord, headers: HTTPHeaders = [:], to file: URL, options: [DownloadOption] = [],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            resuming: record, headers: headers, to: .file(file), options: options, interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }
}
