/// An upload that resumes after a lost connection. A saved ``record`` resumes the upload in another run of the program.
///
///     let upload = await session.resumableUpload(file, to: url, using: .tus, metadata: ["filename": "a.mov"])
///     for await progress in upload.progress { print(progress) }
///     let response = try await upload.value
///
/// An upload is lazy, like a request: awaiting ``value``, iterating ``progress`` or calling ``resume()`` starts it. A
/// started upload runs even if no task awaits it, and keeps its session alive.
public final class ResumableUpload: Sendable {
    private typealias Outcome = Result<DataResponse<Data>, any Error>
    private typealias Waiter = Continuation<Outcome>

    private enum Phase {
        case idle
        /// The upload's task runs. The task is nil until `resume()` has created it.
        case running(Task<Void, Never>?)
        case finished(Outcome)
    }

    // Immutable
    let plan: ResumableUploadPlan
    let feed = ProgressFeed()

    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    private struct State {
        var phase = Phase.idle
        var record: ResumableUploadRecord?
        var waiters: [UInt64: Waiter] = [:]
        var waiterNumber: UInt64 = 0
    }

    init(_ plan: ResumableUploadPlan) {
        self.plan = plan
        box = Protected(State(record: plan.record))
    }

    /// The data needed to resume the upload later. The record is nil until the server has created the upload, which
    /// happens before the first bytes of the file are sent. The upload keeps its record after a failure or a
    /// cancellation.
    public var record: ResumableUploadRecord? { box.withLock { $0.record } }

    /// The progress of the upload over all its requests. The progress never decreases, and the sequence ends with the
    /// upload.
    public var progress: RequestSequence<TransferProgress> {
        RequestSequence(following: { [self] in
            defer { resume() }
            return feed.observe()
        })
    }

    /// The server's final response, with its body. If the final response was lost, this is the response to the request
    /// for the upload's offset. Throws `CancellationError` if the upload was cancelled, else a ``RequestError``.
    ///
    /// If an awaiting task is cancelled, that task gets the error at once. If no other task awaits the value, the
    /// upload is cancelled too.
    public var value: DataResponse<Data> {
        get async throws {
            let number = box.withLock { state in
                state.waiterNumber += 1
                return state.waiterNumber
            }
            let outcome = await suspended { (continuation: Waiter) in
                let known = box.withLock { state -> Outcome? in
                    if case .finished(let outcome) = state.phase { return outcome }
                    state.waiters[number] = continuation
                    return nil
                }
                if let known { return continuation.resume(returning: known) }
                if !Task.isCancelled { resume() }
            } onCancel: {
                giveUp(number)
            }
            return try outcome.get()
        }
    }

    /// Starts the upload.
    public func resume() {
        let starts = box.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .running(nil)
            return true
        }
        guard starts else { return }
        // The task is unstructured, because the upload continues even if no task awaits its value. This task performs
        // the upload's requests one after another.
        let task = Task {
            var run = ResumableUploadRun(self)
            do throws(RequestError) { finish(.success(try await run.run())) } catch {
                finish(.failure(error.isCancelled ? CancellationError() : error))
            }
        }
        let isOver = box.withLock { state in
            guard case .running = state.phase else { return true }
            state.phase = .running(task)
            return false
        }
        if isOver { task.cancel() }
    }

    /// Cancels the upload at once. The server keeps the bytes that it has received, and ``record`` can resume the
    /// upload.
    public func cancel() { finish(.failure(CancellationError())) }

    private func giveUp(_ number: UInt64) {
        let (waiter, isLast) = box.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            return (waiter, waiter != nil && state.waiters.isEmpty)
        }
        if isLast { cancel() }
        waiter?.resume(returning: .failure(CancellationError()))
    }

    /// Ends the upload once, and resumes every awaiting task exactly once (rule R4 in Concurrency.md).
    private func finish(_ outcome: Outcome) {
        let ended = box.withLock { state -> State? in
            if case .finished = state.phase { return nil }
            defer {
                state.phase = .finished(outcome)
                state.waiters = [:]
            }
            return state
        }
        guard let ended else { return }
        if case .running(let task?) = ended.phase { task.cancel() }
        feed.end()
        for waiter in ended.waiters.values { waiter.resume(returning: outcome) }
    }

    // MARK: Called by the run

    /// Stores the record. If the upload has got another URL, repeats the progress, so that a reader of the progress can
    /// store the URL at once.
    func keep(_ record: ResumableUploadRecord) {
        let isMoved = box.withLock { state in
            let known = state.record?.uploadURL
            state.record = record
            return known != nil && known != record.uploadURL
        }
        if isMoved { feed.repeatLatest() }
    }
}

extension ResumableUpload: CustomReflectable {
    /// A mirror without the upload's URL and headers.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
