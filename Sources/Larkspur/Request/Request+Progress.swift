extension Request {
    /// How much of the request's body has been sent.
    ///
    ///     for await progress in upload.uploadProgress { print(progress.fraction ?? 0) }
    public var uploadProgress: ProgressSequence { RequestSequence(self, .upload) }

    /// Calls the closure as the request's body is sent, one call at a time, with the latest value of each moment: on a
    /// task of its own, or on an actor with `{ @MainActor progress in … }`. It does not start the request, and is held, with
    /// all that it holds, until the request has ended or is let go of.
    @discardableResult
    public func uploadProgress(perform handler: @escaping @Sendable (TransferProgress) async -> Void) -> Self {
        let stream = handle.core.follow(.upload)
        // Unstructured, one for each closure: it ends with the stream, and the stream with the request.
        Task { for await progress in stream { await handler(progress) } }
        return self
    }

    /// Foundation's value for how much of the request's body has been sent, as views and parent progresses take it.
    /// Cancelling, pausing and resuming it does so to the request. It does not start the request.
    public func makeUploadProgress() -> Progress {
        let progress = Progress(totalUnitCount: -1)
        progress.cancellationHandler = { [weak self] in _ = self?.cancel() }
        (progress.isCancellable, progress.isPausable) = (true, true)
        progress.pausingHandler = { [weak self] in _ = self?.suspend() }
        progress.resumingHandler = { [weak self] in _ = self?.resume() }
        let stream = handle.core.follow(.upload)
        Task { [weak self] in
            for await current in stream {
                progress.totalUnitCount = current.total.map(Int64.init(clamping:)) ?? -1
                progress.completedUnitCount = Int64(clamping: current.completed)
            }
            // A body of unknown length has the length that was sent; an empty one counts as one piece, or it would never end.
            guard progress.totalUnitCount <= 0, self?.error == nil else { return }
            progress.completedUnitCount = max(1, progress.completedUnitCount)
            progress.totalUnitCount = progress.completedUnitCount
        }
        return progress
    }
}

extension RequestTopic {
    static var upload: RequestTopic<TransferProgress> {
        RequestTopic<TransferProgress>(followers: \.upload, buffering: .bufferingNewest(1)) { state, told in
            state.uploaded.flatMap { $0 == told.last ? nil : [$0] } ?? []
        }
    }
}
