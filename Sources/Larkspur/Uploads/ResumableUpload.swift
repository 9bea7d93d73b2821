/// An upload that goes on where it stood: after a lost connection by itself, and in another run of the program by its
/// record.
///
///     let upload = await session.resumableUpload(file, to: url, using: .tus, metadata: ["filename": "a.mov"])
///     for await progress in upload.progress { print(progress) }
///     let response = try await upload.value
///
/// Like a request it is lazy: awaiting its value, iterating its progress or `resume()` starts it. From then on it runs
/// whether or not anybody waits, and keeps its session.
public final class ResumableUpload: Sendable {
    private typealias Outcome = Result<DataResponse<Data>, any Error>
    private typealias Waiter = Suspension<Outcome>

    private enum Phase {
        case idle
        /// The task is nil for the moment until it is there.
        case running(Task<Void, Never>?)
        case finished(Outcome)
    }

    // Immutable
    let plan: ResumableUploadPlan
    let feed = ProgressFeed()

    // Guarded by the box
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

    /// What it takes to continue later; nil until the server has made the upload, which is before the first bytes of the
    /// file are sent. It stays after a failure or a cancel.
    public var record: ResumableUploadRecord? { box.withLock { $0.record } }

    /// How much of the file has been sent, over all requests: it never falls, and ends with the upload.
    public var progress: ProgressSequence {
        ProgressSequence(following: { [self] in
            defer { resume() }
            return feed.observe()
        })
    }

    /// The server's last answer, with its body; if it was lost, that to the question how far the upload has come. Throws
    /// `CancellationError` for a cancel, else a `RequestError`.
    ///
    /// A cancelled awaiter is answered at once, and takes the upload along if nobody else awaits it.
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
        // Unstructured: the upload goes on whether or not anybody awaits it. It is this one task.
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

    /// Ends the upload at once; what the server has stays there, and `record` continues it.
    public func cancel() { finish(.failure(CancellationError())) }

    private func giveUp(_ number: UInt64) {
        let (waiter, isLast) = box.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            return (waiter, waiter != nil && state.waiters.isEmpty)
        }
        if isLast { cancel() }
        waiter?.resume(returning: .failure(CancellationError()))
    }

    /// The end, once: everybody is answered (R4).
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

    // MARK: The run's side

    func keep(_ record: ResumableUploadRecord) { box.withLock { $0.record = record } }
}
