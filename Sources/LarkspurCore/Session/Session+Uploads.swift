// Requests that upload a body. The body is made when the request is built, and again for each attempt. If the body
// cannot be made, the request fails with the error.

extension Session {
    /// Uploads data, a file or a form.
    ///
    ///     let note = await session.upload(data, to: url, method: .put)
    ///     let film = await session.upload(file, to: url)
    ///
    /// A file is read from disk while it is sent. If the request has no `Content-Type`, the file's extension determines
    /// the content type.
    ///
    /// - Parameters:
    ///   - content: `Data`, the `URL` of a file, a ``MultipartFormData`` or a ``TransportBody``.
    ///   - target: A URL in any form, or a complete request, whose body is replaced.
    ///   - method: The method. Nil, the default, means POST for a URL, and the request's own method for a complete
    ///     request.
    ///   - headers: The header fields. In a complete request, they replace the fields with the same names.
    ///   - interceptor: An interceptor for this request, called after the session's interceptors.
    ///   - startsAutomatically: Whether attaching a serializer starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A closure that changes the request before the content is set. It is called for each
    ///     attempt.
    public func upload(
        _ content: any RequestContentConvertible, to target: any RequestTarget,
        method: HTTPMethod? = nil, headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            RequestContent(of: content), to: target, method: method, headers: headers,
            interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }

    /// Uploads content of any kind: `.sequence { lines() }`, `.inputStream(stream)`, `.joined([…])`, `.json(value)`.
    public func upload(
        _ content: RequestContent, to target: any RequestTarget, method: HTTPMethod? = nil,
        headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let source = RequestSource(
            target, method, headers, default: .post, modifier: requestModifier, content: content)
        return UploadRequest(core: makeCore(source, interceptor, startsAutomatically))
    }

    /// Uploads a form that the closure builds for each attempt. The form's files are read while they are sent.
    ///
    ///     let request = await session.upload(multipart: { $0.append(photo, name: "photo") }, to: url)
    public func upload(
        multipart build: @escaping @Sendable (inout MultipartFormData) throws -> Void,
        to target: any RequestTarget, method: HTTPMethod? = nil, headers: HTTPHeaders = [:],
        interceptor: (any RequestInterceptor)? = nil, startsAutomatically: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .multipart(build), to: target, method: method, headers: headers, interceptor: interceptor,
            startsAutomatically: startsAutomatically, requestModifier: requestModifier)
    }
}
