// Requests whose response body goes to a file. Without a destination it is a temporary one, which the caller owns.

extension Session {
    /// Downloads to a file.
    ///
    ///     let file = try await session.download(url, to: .file(destination)).serializingFile().value
    public func download(
        _ url: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders = [:],
        to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(.parts(url, method, headers), modifier: requestModifier)
        return download(source, destination, options, interceptor, startsAutomatically)
    }

    /// Makes such a request with parameters, which the encoder puts into the query or the body.
    ///
    /// - Parameters:
    ///   - parameters: Any `Encodable` value; nil sends none.
    ///   - encoder: Nil takes the session's encoder.
    public func download<Parameters: Encodable & Sendable>(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(
            .parts(url, method, headers), modifier: requestModifier, content: encoded(parameters, by: encoder))
        return download(source, destination, options, interceptor, startsAutomatically)
    }

    /// Makes such a request with parameters of several types, written as a literal:
    /// `["page": 1, "tags": ["a", "b"], "all": true]`. Nil sends none.
    public func download(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: JSON?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders = [:], to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(
            .parts(url, method, headers), modifier: requestModifier, content: encoded(parameters, by: encoder))
        return download(source, destination, options, interceptor, startsAutomatically)
    }

    /// The same from a value that can make a request; it is asked again at each attempt.
    public func download(
        _ convertible: any OutgoingRequestConvertible, to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        let source = RequestSource(.convertible(convertible), modifier: requestModifier)
        return download(source, destination, options, interceptor, startsAutomatically)
    }

    /// Goes on with a download that has ended early. It is a request like any other: modifiers and adapters run, and give it
    /// the credentials of today.
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
        let file = DownloadFile(destination, options, resuming: record, on: context.files)
        return DownloadRequest(core: makeCore(source, interceptor, startsAutomatically, file), file: file)
    }
}
