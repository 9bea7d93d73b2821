extension Session {
    /// Uploads a file so that a lost connection, or the end of the program, costs only what was under way.
    ///
    /// After a lost connection, and statuses that may pass (408, 409, 423, 429, 5xx), the server is asked how far the
    /// upload is, and it goes on from there. If the server has forgotten it, it starts over, once. The file must stay as
    /// it is meanwhile, or the upload fails with `.fileChanged`.
    ///
    /// - Parameters:
    ///   - url: What makes uploads; redirects of it are followed.
    ///   - metadata: What tus tells the server of the file; the draft has fields for it.
    ///   - headers: Go with every request. `Authorization`, `Cookie` and their like, and those of the session, are not
    ///     sent to an upload that the server keeps at another origin.
    ///   - chunkSize: How many bytes a request has at most, for servers with a limit; nil sends all in one.
    ///   - retryLimit: How many failures in a row are borne while the server gets nothing new. Before each further try
    ///     there is a delay, from a quarter of a second up to half a minute, on the session's clock.
    ///   - interceptor: Adapts and retries each request, after the session's.
    public func resumableUpload(
        _ file: URL, to url: any URLConvertible, using method: ResumableUploadProtocol,
        metadata: [String: String] = [:], headers: HTTPHeaders = [:], chunkSize: UInt64? = nil, retryLimit: Int = 8,
        interceptor: (any RequestInterceptor)? = nil
    ) -> ResumableUpload {
        ResumableUpload(
            ResumableUploadPlan(
                session: self, file: file, target: url, method: method, metadata: metadata, headers: headers,
                chunkSize: max(1, chunkSize ?? .max), retryLimit: retryLimit, interceptor: interceptor, record: nil))
    }

    /// Continues an upload by its record, also in another run of the program.
    ///
    /// The file may have moved, but its size and modification time must be those it had.
    public func resumableUpload(
        resuming record: ResumableUploadRecord, from file: URL, headers: HTTPHeaders = [:], chunkSize: UInt64? = nil,
        retryLimit: Int = 8, interceptor: (any RequestInterceptor)? = nil
    ) -> ResumableUpload {
        ResumableUpload(
            ResumableUploadPlan(
                session: self, file: file, target: record.endpoint, method: record.method, metadata: record.metadata,
                headers: headers, chunkSize: max(1, chunkSize ?? .max), retryLimit: retryLimit,
                interceptor: interceptor, record: record))
    }
}
