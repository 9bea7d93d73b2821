/// An upload that resumes after a lost connection. A saved ``record`` resumes the upload in another run of the program.
///
///     let upload = await session.resumableUpload(file, to: url, using: .tus, metadata: ["filename": "a.mov"])
///     for await progress in upload.progress { print(progress) }
///     let response = try await upload.value
///
/// An upload is lazy, like a request: awaiting ``value``, iterating ``progress`` or calling ``resume()`` starts it. A
/// started upload runs even if no task awaits it, and keeps its session alive.
public final class ResumableUpload: Sendable {
    // Immutable
    let plan: ResumableUploadPlan
    private let work = TransferWork<DataResponse<Data>>(endsWithTask: false)
    var feed: ProgressFeed { work.feed }

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<ResumableUploadRecord?>

    init(_ plan: ResumableUploadPlan) {
        self.plan = plan
        box = Protected(plan.record)
    }

    /// The data needed to resume the upload later. The record is nil until the server has created the upload, which
    /// happens before the first bytes of the file are sent. The upload keeps its record after a failure or a
    /// cancellation.
    public var record: ResumableUploadRecord? { box.withLock { $0 } }

    /// The progress of the upload over all its requests. The progress never decreases, and the sequence ends with the
    /// upload.
    public var progress: RequestSequence<TransferProgress> {
        work.progress { [self] in resume() }
    }

    /// The server's final response, with its body. If the final response was lost, this is the response to the request
    /// for the upload's offset. Throws `CancellationError` if the upload was cancelled, else a ``RequestError``.
    ///
    /// If an awaiting task is cancelled, that task gets the error at once. If no other task awaits the value, the
    /// upload is cancelled too.
    public var value: DataResponse<Data> {
        get async throws { try await work.value(startingWith: resume) }
    }

    /// Starts the upload.
    public func resume() {
        // The task performs the upload's requests one after another.
        work.start { [self] in
            var run = ResumableUploadRun(self)
            return try await run.run()
        }
    }

    /// Cancels the upload at once. The server keeps the bytes that it has received, and ``record`` can resume the
    /// upload.
    public func cancel() { work.cancel() }

    // MARK: Called by the run

    /// Stores the record. If the upload has got another URL, repeats the progress, so that a reader of the progress can
    /// store the URL at once.
    func keep(_ record: ResumableUploadRecord) {
        let isMoved = box.withLock { stored in
            let known = stored?.uploadURL
            stored = record
            return known != nil && known != record.uploadURL
        }
        if isMoved { feed.repeatLatest() }
    }
}

extension ResumableUpload: CustomReflectable {
    /// A mirror without the upload's URL and headers.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
