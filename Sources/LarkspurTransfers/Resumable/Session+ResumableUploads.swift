extension Session {
    /// Returns an upload of a file that can resume after a lost connection or the end of the program.
    ///
    /// After a lost connection, or one of the statuses 408, 409, 423, 429 and 5xx, the upload requests the server's
    /// offset and continues from there. If the server no longer has the upload, the upload starts over once. If the
    /// file changes during the upload, the upload fails with `.fileChanged`.
    ///
    /// A saved record continues the upload in another run of the program. The same call creates an upload or, with a
    /// record, continues one:
    ///
    ///     let saved: ResumableUploadRecord? = …
    ///     let upload = await session.resumableUpload(file, to: url, using: .tus, resuming: saved)
    ///
    /// - Parameters:
    ///   - file: The file to send. With a record it may have moved, but its size and modification time must be
    ///     unchanged.
    ///   - url: The URL that creates uploads. Redirects are followed.
    ///   - method: The protocol of the server. With a record it must be the record's protocol.
    ///   - metadata: The metadata of the file, for tus only. The draft uses header fields instead.
    ///   - headers: The header fields of every request. `Authorization`, `Cookie` and similar fields, also those of the
    ///     session, are not sent if the upload's URL has another origin than `url`.
    ///   - record: The record of an earlier run; nil, the default, creates an upload.
    ///   - chunkSize: The maximum number of bytes in a request, for servers with a limit; nil sends all bytes in one
    ///     request.
    ///   - retryLimit: The maximum number of consecutive retries without progress. Delays double from a quarter of a
    ///     second up to half a minute, with full jitter, on the session's clock. A `Retry-After` field of the response
    ///     replaces the delay. Each retry counts against the session's ``RetryBudget``.
    ///   - maximumRetryAfter: The longest accepted `Retry-After`. If the server sends a longer time, the upload fails,
    ///     and its record can resume it later.
    ///   - interceptor: An interceptor for each request, called after the session's interceptors.
    public func resumableUpload(
        _ file: URL, to url: any URLConvertible, using method: ResumableUploadProtocol,
        metadata: [String: String] = [:], headers: HTTPHeaders = [:], resuming record: ResumableUploadRecord? = nil,
        chunkSize: UInt64? = nil, retryLimit: Int = 8, maximumRetryAfter: Duration = .seconds(300),
        interceptor: (any RequestInterceptor)? = nil
    ) -> ResumableUpload {
        ResumableUpload(
            ResumableUploadPlan(
                session: self, file: file, target: url, method: method, metadata: metadata, headers: headers,
                chunkSize: max(1, chunkSize ?? .max), schedule: .transfer(retryLimit, maximumRetryAfter),
                interceptor: interceptor, record: record))
    }
}
