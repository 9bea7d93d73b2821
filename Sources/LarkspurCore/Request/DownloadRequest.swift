/// A request whose response body is written to a file.
///
///     let file = try await session.download(url, to: .file(destination)).serializingFile().value
///
/// Serializers read the downloaded file. During the download, the received bytes are stored in a partial file, so that
/// a retry requests only the rest. See <doc:Downloads> for which bytes a failed download keeps, and how to resume it.
public final class DownloadRequest: SerializableRequest {
    @_documentation(visibility: internal)
    public let handle: RequestHandle
    let file: DownloadFile

    package init(core: RequestCore, file: DownloadFile) {
        handle = RequestHandle(core: core)
        self.file = file
        core.adopt(self)
    }

    /// Cancels the request and keeps the bytes received so far.
    ///
    /// - Returns: The record with which `session.download(resuming:)` resumes the download. If the file is complete, no
    ///   byte was received, or the response does not allow resuming, returns nil and keeps no partial file. For
    ///   example, a response without a strong `ETag` or a `Last-Modified` field does not allow resuming.
    public func cancelProducingResumeRecord() async -> DownloadRecord? {
        await file.keepPartialFile()
        cancel()
        return await file.closed()
    }

    /// Returns a task whose value is the URL of the downloaded file. If the download has no destination, this is a
    /// temporary file, which the caller must remove.
    public func serializingFile(automaticallyCancelling: Bool = true) -> DataTask<URL> {
        serializingResponse(using: .file, automaticallyCancelling: automaticallyCancelling)
    }

    /// Calls the closure with the response, whose value is the URL of the downloaded file.
    @discardableResult
    public func responseFile(completion: @escaping @Sendable (DownloadResponse<URL>) async -> Void) -> Self {
        response(using: .file, completion: completion)
    }
}

/// The response of a download: a ``DataResponse`` with a ``DataResponse/fileURL``, or with a
/// ``DataResponse/resumeRecord`` if the download failed and can be resumed. Code that handles a ``DataResponse`` also
/// handles the response of a download.
public typealias DownloadResponse<Value: Sendable> = DataResponse<Value>

extension DataResponse {
    /// The URL of the downloaded file; nil for other kinds of requests and for failed downloads.
    public var fileURL: URL? { exchange.fileURL }

    /// The record for resuming a failed download; nil if the received bytes were not kept.
    public var resumeRecord: DownloadRecord? { exchange.resumeRecord }
}

/// A serializer that returns the URL of a downloaded file.
public struct FileResponseSerializer: ResponseSerializer {
    /// Creates a serializer. ``ResponseSerializer/file`` is the short form.
    public init() {}

    public var readsDownloadedFile: Bool { false }

    public func serialize(_ exchange: CompletedExchange) throws -> URL {
        guard let url = exchange.fileURL else {
            throw RequestError(.fileMissing, "the response has no file, because the request is not a download")
        }
        return url
    }
}

extension ResponseSerializer where Self == FileResponseSerializer {
    /// A serializer that returns the URL of a downloaded file.
    public static var file: Self { FileResponseSerializer() }
}
