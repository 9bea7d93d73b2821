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
    ///   - retryLimit: The maximum number of retries in a row during which the server gets no new byte. Delays double from a
    ///     quarter of a second up to half a minute, with full jitter, on the session's clock. A `Retry-After` of the
    ///     response takes their place. Each retry needs the session's ``RetryBudget``.
    ///   - maximumRetryAfter: The longest `Retry-After` that is waited for. With a longer one the upload fails, and its
    ///     record continues it later.
    ///   - interceptor: Adapts and retries each request, after the session's.
    public func resumableUpload(
        _ file: URL, to url: any URLConvertible, using method: ResumableUploadProtocol,
        metadata: [String: String] = [:], headers: HTTPHeaders = [:], chunkSize: UInt64? = nil, retryLimit: Int = 8,
        maximumRetryAfter: Duration = .seconds(300), interceptor: (any RequestInterceptor)? = nil
    ) -> ResumableUpload {
        ResumableUpload(
            ResumableUploadPlan(
                session: self, file: file, target: url, method: method, metadata: metadata, headers: headers,
                chunkSize: max(1, chunkSize ?? .max), schedule: .upload(retryLimit, maximumRetryAfter),
                interceptor: interceptor, record: nil))
    }

    /// Continues an upload by its record, also in another run of the program.
    ///
    /// The file may have moved, but its size and modification time must be those it had.
    public func resumableUpload(
        resuming record: ResumableUploadRecord, from file: URL, headers: HTTPHeaders = [:], chunkSize: UInt64? = nil,
        retryLimit: Int = 8, maximumRetryAfter: Duration = .seconds(300), interceptor: (any RequestInterceptor)? = nil
    ) -> ResumableUpload {
        ResumableUpload(
            ResumableUploadPlan(
                session: self, file: file, target: record.endpoint, method: record.method, metadata: record.metadata,
                headers: headers, chunkSize: max(1, chunkSize ?? .max),
                schedule: .upload(retryLimit, maximumRetryAfter), interceptor: interceptor, record: record))
    }
}

extension RetrySchedule {
    /// The protocol makes each request of an upload repeatable, so all methods may be sent twice.
    fileprivate static func upload(_ limit: Int, _ maximumRetryAfter: Duration) -> RetrySchedule {
        RetrySchedule(
            limit: limit, backoff: RetryPolicy.Backoff(scale: .milliseconds(250), cap: .seconds(30)),
            maximumRetryAfter: maximumRetryAfter)
    }
}
