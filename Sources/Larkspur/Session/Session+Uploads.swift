// Requests that are made for their body. What the body is made of is looked at when the request is built, at each attempt
// anew; what is wrong with it surfaces in the response. Each kind goes to a URL or with a whole request.

extension Session {
    // MARK: Data

    /// Uploads bytes.
    public func upload(
        _ data: Data, to url: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders = [:],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.parts(url, method, headers), requestModifier, interceptor, startsAutomatically, .body(.data(data)))
    }

    /// Uploads bytes with a request of your own.
    public func upload(
        _ data: Data, with request: any OutgoingRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.convertible(request), requestModifier, interceptor, startsAutomatically, .body(.data(data)))
    }

    // MARK: Files

    /// Uploads a file, read from disk while it is sent. Its type, if no field says it, follows from its extension.
    public func upload(
        _ file: URL, to url: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders = [:],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.parts(url, method, headers), requestModifier, interceptor, startsAutomatically, .file(file))
    }

    /// Uploads a file with a request of your own, read from disk while it is sent. Its type, if no field says it, follows
    /// from its extension.
    public func upload(
        _ file: URL, with request: any OutgoingRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.convertible(request), requestModifier, interceptor, startsAutomatically, .file(file))
    }

    // MARK: Streams and other bodies

    /// Uploads a body of any kind: `.sequence { … }`, `.inputStream(stream)`, `.joined([…])`.
    public func upload(
        _ body: TransportBody, to url: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders = [:],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.parts(url, method, headers), requestModifier, interceptor, startsAutomatically, .body(body))
    }

    /// Uploads a body of any kind with a request of your own.
    public func upload(
        _ body: TransportBody, with request: any OutgoingRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.convertible(request), requestModifier, interceptor, startsAutomatically, .body(body))
    }

    // MARK: Forms

    /// Uploads a form, put together by the closure at each attempt: its files are read while they are sent.
    ///
    ///     let request = await session.upload(multipart: { $0.append(photo, name: "photo") }, to: url)
    public func upload(
        multipart build: @escaping @Sendable (inout MultipartFormData) throws -> Void, to url: any URLConvertible,
        method: HTTPMethod = .post, headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.parts(url, method, headers), requestModifier, interceptor, startsAutomatically, .multipart(build))
    }

    /// Uploads a form with a request of your own, put together by the closure at each attempt.
    public func upload(
        multipart build: @escaping @Sendable (inout MultipartFormData) throws -> Void,
        with request: any OutgoingRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.convertible(request), requestModifier, interceptor, startsAutomatically, .multipart(build))
    }

    /// Uploads a form that is there already.
    public func upload(
        multipart form: MultipartFormData, to url: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.parts(url, method, headers), requestModifier, interceptor, startsAutomatically, .multipart(form))
    }

    /// Uploads a form that is there already with a request of your own.
    public func upload(
        multipart form: MultipartFormData, with request: any OutgoingRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(.convertible(request), requestModifier, interceptor, startsAutomatically, .multipart(form))
    }

    private func upload(
        _ origin: RequestSource.Origin, _ modifier: RequestModifier?, _ interceptor: (any RequestInterceptor)?,
        _ startsAutomatically: Bool?, _ content: RequestContent
    ) -> UploadRequest {
        let source = RequestSource(origin, modifier: modifier, content: content)
        return UploadRequest(core: makeCore(source, interceptor, startsAutomatically))
    }
}
