/// Performs the requests of background transfers, with adapters, validation and retries.
protocol BackgroundEngine: Sendable {
    /// Whether the system performs the transfers, also without the app.
    var isSystem: Bool { get }

    /// Learns which transfers the system knows from earlier runs; called once, before all other functions.
    func prepare(_ known: Set<UUID>) async

    /// Returns the path at which a complete file waits to be moved to its destination.
    func arrival(of record: BackgroundRecord, in folder: BackgroundFolder) -> URL

    /// Downloads to `job.arrival`. Writes the head of the response before the file is complete.
    func download(_ job: BackgroundJob) async throws(RequestError) -> ResponseHead

    /// Throws if a complete file of an earlier run has another checksum than the caller expects.
    func check(_ job: BackgroundJob) async throws(RequestError)

    /// Sends the file of the request's body.
    func upload(_ job: BackgroundJob) async throws(RequestError) -> (ResponseHead, Data)

    /// The outcome of a transfer is on disk.
    func didSettle(_ id: UUID)

    /// Forgets everything about a transfer.
    func forget(_ id: UUID) async

    /// Ends the engine. Transfers that the system performs continue without it.
    func close()
}

/// One run of a transfer.
struct BackgroundJob: Sendable {
    let id: UUID
    let request: OutgoingRequest
    let options: [DownloadOption]
    let arrival: URL
    let session: Session
    let retrier: RetryPolicy?
    let files: BackgroundFiles
    let feed: ProgressFeed
    /// Stores the closure that cancels the request in flight.
    let setStop: @Sendable (@escaping @Sendable () -> Void) -> Void

    static let accepted = ResponseValidator.status(200..<300)
}

/// Performs transfers with a session, while the program runs. A killed program continues in its next run.
struct SessionEngine: BackgroundEngine {
    var isSystem: Bool { false }

    func prepare(_ known: Set<UUID>) {}

    /// A hidden file in the destination's folder, so that the file can be renamed to its destination.
    func arrival(of record: BackgroundRecord, in folder: BackgroundFolder) -> URL {
        let folder = record.download?.folder ?? URL(fileURLWithPath: folder.path)
        return folder.appendingPathComponent(".larkspur-\(record.id.uuidString)")
    }

    func download(_ job: BackgroundJob) async throws(RequestError) -> ResponseHead {
        let file = DownloadFile(.file(job.arrival), job.options, resuming: nil, on: job.session.context.files)
        let core = await job.session.makeCore(RequestSource(.convertible(job.request)), job.retrier, false, file)
        let (files, id) = (job.files, job.id)
        let request = DownloadRequest(core: core, file: file).validate(using: BackgroundJob.accepted)
            .validate(
                using: ResponseValidator { exchange in
                    guard let head = exchange.head else { return }
                    try await files.run { folder throws(RequestError) in try folder.write(head, of: id) }
                })
        // A pause cancels the request, and its bytes must stay.
        await file.keepPartialFile()
        let task = request.serializingFile(automaticallyCancelling: false)
        job.setStop { request.cancel() }
        request.resume()
        for await progress in request.downloadProgress {
            job.feed.advance(to: progress.completed, of: progress.total)
        }
        let response = await task.response
        _ = await file.closed()
        return try response.successfulHead
    }

    /// The checksum was compared before the file was complete.
    func check(_ job: BackgroundJob) {}

    func upload(_ job: BackgroundJob) async throws(RequestError) -> (ResponseHead, Data) {
        let core = await job.session.makeCore(RequestSource(.convertible(job.request)), job.retrier, false)
        let request = UploadRequest(core: core).validate(using: BackgroundJob.accepted)
        let task = request.serializingData(automaticallyCancelling: false)
        job.setStop { request.cancel() }
        request.resume()
        for await progress in request.uploadProgress { job.feed.advance(to: progress.completed, of: progress.total) }
        let response = await task.response
        return (try response.successfulHead, response.value ?? Data())
    }

    func didSettle(_ id: UUID) {}

    func forget(_ id: UUID) {}

    func close() {}
}

extension DataResponse {
    /// The head of a successful response; throws the error of a failed one.
    var successfulHead: ResponseHead {
        get throws(RequestError) {
            if let error { throw error }
            guard let head else { throw RequestError(.protocolViolation, "the server sent no response") }
            return head
        }
    }
}
