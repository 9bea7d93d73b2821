/// A request whose response body goes to a file.
///
///     let file = try await session.download(url, to: .file(destination)).serializingFile().value
///
/// Every serializer works on the file. What has come stays in a partial file while a retry is made for the rest; see
/// <doc:Downloads> for what is kept after a failure and how it is gone on with.
public final class DownloadRequest: SerializableRequest {
    public let handle: RequestHandle
    let file: DownloadFile

    init(core: RequestCore, file: DownloadFile) {
        handle = RequestHandle(core: core)
        self.file = file
        core.adopt(self)
    }

    /// Cancels the request and keeps what has come of it: nil if the file is whole, if there is nothing, or if the server
    /// gave nothing to tell its file by. `session.download(resuming:)` goes on with it, and leaves nothing behind.
    public func cancelProducingResumeRecord() async -> DownloadRecord? {
        await file.keepPartialFile()
        cancel()
        return await file.closed()
    }

    /// The file, at its place. Without a destination it is a temporary one, which is the caller's to remove.
    public func serializingFile(automaticallyCancelling: Bool = true) -> DataTask<URL> {
        serializingResponse(using: .file, automaticallyCancelling: automaticallyCancelling)
    }

    /// Calls the closure with the file, at its place.
    @discardableResult
    public func responseFile(completion: @escaping @Sendable (DownloadResponse<URL>) async -> Void) -> Self {
        response(using: .file, completion: completion)
    }
}

/// A response of a download. It is one of data whose body is a file: `fileURL`, or `resumeRecord` if it failed and can be gone
/// on with. One type for both, so that what handles responses handles these.
public typealias DownloadResponse<Value: Sendable> = DataResponse<Value>

extension DataResponse {
    /// The downloaded file, at its place; nil for requests that are no downloads, and for those that failed.
    public var fileURL: URL? { exchange.fileURL }

    /// What to go on with where a download has failed and its bytes were kept.
    public var resumeRecord: DownloadRecord? { exchange.resumeRecord }
}

/// The file of a download as it is.
public struct FileResponseSerializer: ResponseSerializer {
    /// `.file` is the same.
    public init() {}

    public var readsDownloadedFile: Bool { false }

    public func serialize(_ exchange: CompletedExchange) throws -> URL {
        guard let url = exchange.fileURL else {
            throw RequestError(.fileMissing, "there is no file: only downloads have one")
        }
        return url
    }
}

extension ResponseSerializer where Self == FileResponseSerializer {
    /// The file of a download as it is.
    public static var file: Self { FileResponseSerializer() }
}

extension CompletedExchange {
    /// The same exchange with the file's bytes, for serializers that want them.
    func readingFile() throws(RequestError) -> CompletedExchange {
        guard let fileURL else { return self }
        return with(try Data(of: fileURL))
    }
}
