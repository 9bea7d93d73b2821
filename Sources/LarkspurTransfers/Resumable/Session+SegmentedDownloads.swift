extension Session {
    /// Returns a download to a file over several connections at the same time.
    ///
    ///     let file = try await session.download(url, to: archive, segments: 4).value
    ///
    /// The first response decides whether the file is divided: its length must be known, and it must have a strong
    /// validator and support ranges. Otherwise that response is the download. Each later segment is requested on the
    /// condition that the server's file is the same (`If-Range`). If the file has changed, the download starts over,
    /// over one connection.
    ///
    /// After a failure or a cancel the received bytes are kept. The same call resumes from them, also in another run of
    /// the program, and also with another number of segments. An error of one connection ends the others.
    ///
    /// - Parameters:
    ///   - url: The URL of the file. Each segment is a GET of this URL, so redirects are followed for each segment.
    ///   - file: The place of the file. The file appears there when it is complete.
    ///   - segments: The maximum number of segments, from 1 to 16; other values are changed to the nearest of these.
    ///     Each segment has about a mebibyte or more, so a small file has fewer segments.
    ///   - headers: The header fields of every request, without `Range` and `If-Range`.
    ///   - options: The treatment of an existing file and of missing folders, and the checksum of the whole file.
    ///   - retryLimit: The maximum number of consecutive retries of a segment without progress. Delays double from a
    ///     quarter of a second up to half a minute, with full jitter, on the session's clock. Each retry counts against
    ///     the session's ``RetryBudget``.
    ///   - maximumRetryAfter: The longest accepted `Retry-After`. If the server sends a longer time, the download
    ///     fails.
    ///   - interceptor: An interceptor for each request, called after the session's interceptors.
    public func download(
        _ url: any URLConvertible, to file: URL, segments: Int, headers: HTTPHeaders = [:],
        options: [DownloadOption] = [], retryLimit: Int = 8, maximumRetryAfter: Duration = .seconds(300),
        interceptor: (any RequestInterceptor)? = nil
    ) -> SegmentedDownload {
        SegmentedDownload(
            SegmentedDownloadPlan(
                session: self, target: url, file: file,
                segments: min(max(1, segments), SegmentLayout.maximumCount), headers: headers, options: options,
                retryLimit: max(0, retryLimit), schedule: .transfer(retryLimit, maximumRetryAfter),
                interceptor: interceptor))
    }
}
