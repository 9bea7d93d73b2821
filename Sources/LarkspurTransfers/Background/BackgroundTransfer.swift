/// A download or an upload of ``BackgroundTransfers``. It runs even if no task awaits it, and continues in a later run
/// of the program.
///
///     let film = try await transfers.download(url, to: .file(place))
///     for await progress in film.progress { print(progress.fraction ?? 0) }
///     let response = try await film.value
public final class BackgroundTransfer: Sendable, Identifiable {
    /// The direction of a transfer.
    public enum Kind: String, Sendable, Hashable {
        /// A file is received.
        case download
        /// A file is sent.
        case upload
    }

    /// The status of a transfer.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum State: Sendable, Hashable {
        /// The transfer is in flight, or waits for a retry.
        case running
        /// The transfer waits for ``BackgroundTransfer/resume()``, also in later runs of the program.
        case paused
        /// The transfer has succeeded. A downloaded file is at its destination.
        case succeeded
        /// The transfer has failed; ``BackgroundTransfer/result`` has the reason.
        case failed
        /// The transfer was cancelled. Nothing is left of it.
        case cancelled
        /// ``BackgroundTransfers/close()`` has ended the transfer in this run of the program. A later run continues it.
        case closed
    }

    /// The response to a transfer.
    public struct Response: Sendable {
        /// The head of the response. After a restart, fields that can contain secrets are missing.
        public let head: ResponseHead
        /// The downloaded file; nil for an upload.
        public let fileURL: URL?
        /// The body of the response to an upload; nil for a download.
        public let data: Data?
    }

    // Immutable
    /// The identifier of the transfer, the same in each run of the program.
    public let id: UUID
    /// The direction of the transfer.
    public let kind: Kind
    /// The requested URL, without user and password.
    public let url: String
    /// The caller's own name for the transfer, by which a later run recognises it.
    public let tag: String?
    /// Whether the transfer was started by an earlier run of the program.
    public let isRestored: Bool
    let hub: BackgroundHub
    let feed = ProgressFeed()
    /// The request of the call, with its credentials and options; nil for a restored transfer.
    let original: OutgoingRequest?

    // Mutable state, guarded by the lock of `Protected`
    let box: Protected<BackgroundTransferState>

    init(_ record: BackgroundRecord, original: OutgoingRequest?, hub: BackgroundHub) {
        id = record.id
        kind = record.upload == nil ? .download : .upload
        url = record.url
        tag = record.tag
        isRestored = original == nil
        self.original = original
        self.hub = hub
        box = Protected(BackgroundTransferState(record))
    }

    /// The current status.
    public var state: State {
        switch box.withLock({ $0.phase }) {
        case .running: .running
        case .paused: .paused
        case .finished(.success): .succeeded
        case .finished(.failure): .failed
        case .cancelled: .cancelled
        case .closed: .closed
        }
    }

    /// The progress of the file. It never decreases, and the sequence ends with the transfer.
    public var progress: RequestSequence<TransferProgress> { RequestSequence(following: { [feed] in feed.observe() }) }

    /// The response. Its delivery ends the transfer: the record is removed, and later runs no longer restore it.
    ///
    /// If the process ends before the delivery, the next run restores the transfer with its result. Throws
    /// `CancellationError` if the transfer or the awaiting task was cancelled, else a ``RequestError``. Cancelling the
    /// awaiting task does not cancel the transfer.
    public var value: Response {
        get async throws {
            let result = await result
            if Task.isCancelled { throw CancellationError() }
            if case .closed = state {} else { await removeRecord() }
            switch result {
            case .success(let response): return response
            case .failure(let error) where error.isCancelled: throw CancellationError()
            case .failure(let error): throw error
            }
        }
    }

    /// The response or the reason why there is none. The record stays until ``remove()`` is called, so that a result
    /// can be processed before it is forgotten.
    ///
    ///     if case .success(let response) = await transfer.result {
    ///         try store(response)
    ///         await transfer.remove()
    ///     }
    ///
    /// If the awaiting task is cancelled, the result is a cancellation, and the transfer continues.
    public var result: Result<Response, RequestError> {
        get async {
            switch await ended() {
            case .finished(let outcome): outcome
            case .closed:
                .failure(
                    RequestError(
                        .sessionInvalidated, "the background transfers were closed; a later run continues this one"))
            case .cancelled, .paused, .running: .failure(.requestCancelled)
            }
        }
    }

    /// Pauses the transfer. When the function returns, the pause is on disk: later runs do not continue the transfer
    /// either.
    ///
    /// A download keeps its bytes if the server supports that. An upload starts over, unless it is resumable.
    public func pause() async { await settle(.pause) }

    /// Continues a paused transfer.
    public func resume() { act(on: box.withLock { $0.ask(.run) }) }

    /// Cancels the transfer. When the function returns, its record and its partial file are removed.
    ///
    /// A transfer that has finished keeps its result.
    public func cancel() async { await settle(.cancel) }

    /// Removes the record of a transfer that has finished; its file stays. An unfinished transfer is cancelled.
    public func remove() async {
        await cancel()
        if case .closed = state { return }
        await removeRecord()
    }

    // MARK: Waiting

    /// Returns the phase after the transfer has ended, or the current one if the awaiting task is cancelled.
    private func ended() async -> BackgroundTransferState.Phase {
        let number = box.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await suspended { (continuation: Continuation<BackgroundTransferState.Phase>) in
            let known = box.withLock { state -> BackgroundTransferState.Phase? in
                switch state.phase {
                case .finished, .cancelled, .closed: return state.phase
                case .running, .paused:
                    state.waiters[number] = continuation
                    return nil
                }
            }
            if let known { continuation.resume(returning: known) }
        } onCancel: {
            let (waiter, phase) = box.withLock { ($0.waiters.removeValue(forKey: number), $0.phase) }
            waiter?.resume(returning: phase)
        }
    }
}

extension BackgroundTransfer: CustomStringConvertible, CustomReflectable {
    /// The direction, the tag and the status, without the URL, which alone may give access to the file.
    public var description: String { "\(kind.rawValue)\(tag.map { " \($0)" } ?? "") (\(state))" }
    /// A mirror without the request.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
