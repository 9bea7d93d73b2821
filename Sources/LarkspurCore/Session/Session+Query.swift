// Requests whose query is named apart from their body. Each function has two forms: one for any `Encodable` value, and
// one for a literal or for query items.

extension Session {
    // MARK: Requests

    /// Makes a request with a query: any `Encodable` value, written as a form. It is added to the query of the URL, for
    /// every method.
    ///
    ///     let page = try await session.request("users", query: Page(number: 2)).serializingJSON().value
    ///
    /// `parameters:` does the same for GET, HEAD and DELETE. For other methods it makes a body.
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: some Encodable & Sendable,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            target, method: method, query: RequestQuery(query), headers: headers, body: body, interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    /// Makes a request with a query that is a literal, with constants or variables of different types, or query items:
    /// `query: ["page": 2, "name": name]`, `query: .items(items)`.
    public func request(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: RequestQuery, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            target, method: method, headers: headers, body: query.beside(body), interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    // MARK: Streams

    /// Makes a request with a query, whose response body is read while it is received.
    public func streamRequest(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: some Encodable & Sendable,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, bufferSize: Int = 1 << 20,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            target, method: method, query: RequestQuery(query), headers: headers, body: body, bufferSize: bufferSize,
            interceptor: interceptor, startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    /// Makes a request with a query that is a literal or query items, whose response body is read while it is received.
    public func streamRequest(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: RequestQuery, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, bufferSize: Int = 1 << 20, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            target, method: method, headers: headers, body: query.beside(body), bufferSize: bufferSize,
            interceptor: interceptor, startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    // MARK: Downloads

    /// Makes a request with a query, which downloads its response body to a file.
    public func download(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: some Encodable & Sendable,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, to destination: Destination? = nil,
        options: [DownloadOption] = [], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            target, method: method, query: RequestQuery(query), headers: headers, body: body, to: destination,
            options: options, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Makes a request with a query that is a literal or query items, which downloads its response body to a file.
    public func download(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: RequestQuery, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, to destination: Destination? = nil, options: [DownloadOption] = [],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            target, method: method, headers: headers, body: query.beside(body), to: destination, options: options,
            interceptor: interceptor, startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    /// Makes a request with a query, which downloads its response body to the file at a URL.
    public func download(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: some Encodable & Sendable,
        headers: HTTPHeaders = [:], body: RequestContent? = nil, to file: URL, options: [DownloadOption] = [],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            target, method: method, query: RequestQuery(query), headers: headers, body: body, to: file,
            options: options, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Makes a request with a query that is a literal or query items, which downloads its response body to the file at
    /// a URL.
    public func download(
        _ target: any RequestTarget, method: HTTPMethod? = nil, query: RequestQuery, headers: HTTPHeaders = [:],
        body: RequestContent? = nil, to file: URL, options: [DownloadOption] = [],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DownloadRequest {
        download(
            target, method: method, headers: headers, body: query.beside(body), to: .file(file), options: options,
            interceptor: interceptor, startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    // MARK: Uploads

    /// Uploads data, a file or a form, with a query.
    public func upload(
        _ content: any RequestContentConvertible, to target: any RequestTarget, method: HTTPMethod? = nil,
        query: some Encodable & Sendable, headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            content, to: target, method: method, query: RequestQuery(query), headers: headers, interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    /// Uploads data, a file or a form, with a query that is a literal or query items.
    public func upload(
        _ content: any RequestContentConvertible, to target: any RequestTarget, method: HTTPMethod? = nil,
        query: RequestQuery, headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            query.beside(RequestContent(of: content)), to: target, method: method,
            headers: headers, interceptor: interceptor, startsAutomatically: startsAutomatically,
            requestModifier: requestModifier)
    }

    /// Uploads content of any kind, with a query. A form has the content `.multipart { … }`.
    public func upload(
        _ content: RequestContent, to target: any RequestTarget, method: HTTPMethod? = nil,
        query: some Encodable & Sendable, headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            content, to: target, method: method, query: RequestQuery(query), headers: headers, interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    /// Uploads content of any kind, with a query that is a literal or query items.
    public func upload(
        _ content: RequestContent, to target: any RequestTarget, method: HTTPMethod? = nil, query: RequestQuery,
        headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            query.beside(content), to: target, method: method, headers: headers, interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }
}
