/// The data needed to resume an unfinished download: its partial file and the version of the file on the server.
///
///     let record = await request.cancelProducingResumeRecord()
///     …
///     let file = try await session.download(resuming: record, to: .file(destination)).serializingFile().value
///
/// A record is valid as long as its partial file is unchanged. Another process can use the record, too. An outdated
/// record does no harm: if the server's file has changed, the server sends the whole file.
public struct DownloadRecord: Codable, Hashable, Sendable {
    /// The URL of the request before adapters changed it, without user and password.
    public let url: String
    /// The file with the bytes received so far.
    public internal(set) var partialFile: URL
    /// The validator of the server's file: a strong `ETag`, or a `Last-Modified` date.
    public let validator: String
    /// The number of bytes in the partial file when the record was created. A download that resumes uses the file's
    /// actual length instead.
    public internal(set) var offset: UInt64
    /// The length of the complete file, if the server has sent it.
    public let total: UInt64?
}

extension DownloadRecord {
    /// Creates a record; nil if the download cannot be resumed. A download can be resumed if its request is a GET
    /// without a `Range` of its own, and its response has status 200, a strong validator, no content coding and no
    /// field `Accept-Ranges: none`.
    init?(of hop: Hop, url: String, partialFile: URL) {
        let asksForPart = hop.request.headers["Range"] != nil && hop.request.options.resumption == nil
        guard hop.request.method == .get, !asksForPart, let head = hop.head, head.status == 200, head.isPlain,
            head["Accept-Ranges"]?.lowercased() != "none", let validator = head.strongValidator
        else { return nil }
        self.init(url: url, partialFile: partialFile, validator: validator, offset: 0, total: head.contentLength)
    }

    func isOfSame(as other: DownloadRecord) -> Bool { url == other.url && validator == other.validator }
}

extension Hop {
    /// Whether the response shows that the partial file was already complete before this hop.
    var hasNothingMore: Bool {
        guard let head else { return false }
        return request.options.resumption?.answer(in: head) == .nothing
    }
}

/// The descriptions omit the URL, because a presigned URL alone gives access to the file on the server.
extension DownloadRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "DownloadRecord(\(offset) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
