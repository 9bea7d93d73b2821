// Requests that upload a body. The body is made when the request is built, again for each attempt. Errors of making the
// body are delivered with the response.

extension Session {
    /// Uploads data, a file or a form.
    ///
    ///     let note = await session.upload(data, to: url, method: .put)
    ///     let film = await session.upload(file, to: url)
    ///
    /// A file is read from disk while it is sent. If no header field names the file's type, the type follows from the
    /// file's extension.
    ///
    /// - Parameters:
    ///   - content: `Data`, the `URL` of a file, a ``MultipartFormData`` or a ``TransportBody``.
    ///   - target: A URL in any form, or a complete request, whose body is replaced.
    ///   - method: The method. Nil, the default, is POST for a URL, and the own method of a complete request.
    ///   - headers: The header fields. They replace fields of a complete request with the same names.
    ///   - interceptor: An interceptor for this request, called after those of the session.
    ///   - startsAutomatically: Whether a serializer starts the request. Nil, the default, uses the session's
    ///     configuration.
    ///   - requestModifier: A last change, before the content is set; called for each attempt.
    public func upload(
        _ content: any RequestContentConvertible, to target: any RequestTarget,
        method: HTTPMethod? = nil, headers: HTTPHeaders = [:], interceptor: (any RequestInterceptor)? = nil,
        startsAutomatically: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            RequestContent { try content.asRequestContent().write(&$0) }, to: target, method: method, headers: headers,
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

    /// Uploads a form that the closure builds for each attempt. Its files are read while they are sent.
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
