/// A download to a file over several connections at the same time. Each connection transfers a part of the file.
///
///     let download = await session.download(url, to: archive, segments: 4)
///     for await progress in download.progress { print(progress) }
///     let file = try await download.value
///
/// A download is lazy, like a request: awaiting ``value``, iterating ``progress`` or calling ``resume()`` starts it. A
/// started download runs even if no task awaits it, and keeps its session alive.
///
/// See <doc:Downloads> for when a server's file is divided, and for which bytes a failed download keeps.
public final class SegmentedDownload: Sendable {
    private typealias Outcome = Result<URL, any Error>
    private typealias Waiter = Continuation<Outcome>

    private enum Phase {
        case idle
        /// `resume()` creates the download's task. A cancel in the meantime cancels the task when it exists.
        case starting(isCancelled: Bool)
        case running(Task<Void, Never>)
        case finished(Outcome)
    }

    private struct State {
        var phase = Phase.idle
        var keepsBytes = true
        var waiters: [UInt64: Waiter] = [:]
        var waiterNumber: UInt64 = 0
    }

    // Immutable
    let plan: SegmentedDownloadPlan
    let feed = ProgressFeed()

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    init(_ plan: SegmentedDownloadPlan) { self.plan = plan }

    /// The progress of the download over all its connections. The progress begins with the bytes that an earlier
    /// download has left. It decreases only if the server's file becomes shorter. The sequence ends with the download.
    public var progress: RequestSequence<TransferProgress> {
        RequestSequence(following: { [self] in
            defer { resume() }
            return feed.observe()
        })
    }

    /// The URL of the complete file. Throws `CancellationError` if the download was cancelled, else a ``RequestError``.
    ///
    /// If an awaiting task is cancelled and other tasks await the value, that task gets the error at once. If no other
    /// task awaits the value, the download is cancelled, and the task gets its outcome.
    public var value: URL {
        get async throws {
            let number = box.withLock { state in
                state.waiterNumber += 1
                return state.waiterNumber
            }
            let outcome = await suspended { (waiter: Waiter) in
                let known = box.withLock { state -> Outcome? in
                    if case .finished(let outcome) = state.phase { return outcome }
                    state.waiters[number] = waiter
                    return nil
                }
                if let known { return waiter.resume(returning: known) }
                if !Task.isCancelled { resume() }
            } onCancel: {
                giveUp(number)
            }
            return try outcome.get()
        }
    }

    /// Starts the download.
    public func resume() {
        let starts = box.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .starting(isCancelled: false)
            return true
        }
        guard starts else { return }
        // The task is unstructured, because the download continues even if no task awaits its value.
        let task = Task {
            let run = SegmentedDownloadRun(plan, feed)
            do {
                finish(.success(try await run.run { self.box.withLock { $0.keepsBytes } }))
            } catch {
                let isCancelled = error is CancellationError || (error as? RequestError)?.isCancelled == true
                finish(.failure(isCancelled ? CancellationError() : error))
            }
        }
        let isCancelled = box.withLock { state in
            guard case .starting(let isCancelled) = state.phase else { return false }
            state.phase = .running(task)
            return isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Cancels the download. Its ``value`` throws when the last file operation is done.
    ///
    /// - Parameter keepingBytes: Whether the received bytes are kept, so that the next download of the same URL to the
    ///   same file resumes; true by default.
    public func cancel(keepingBytes: Bool = true) {
        let (task, isIdle) = box.withLock { state -> (Task<Void, Never>?, Bool) in
            if !keepingBytes { state.keepsBytes = false }
            switch state.phase {
            case .idle: return (nil, true)
            case .starting:
                state.phase = .starting(isCancelled: true)
                return (nil, false)
            case .running(let task): return (task, false)
            case .finished: return (nil, false)
            }
        }
        if isIdle { finish(.failure(CancellationError())) }
        task?.cancel()
    }

    /// Ends the wait of one task. The last waiting task goes on waiting, for the end of the cancelled download. The
    /// folder is then in its final state.
    private func giveUp(_ number: UInt64) {
        let (waiter, isLast) = box.withLock { state -> (Waiter?, Bool) in
            guard state.waiters[number] != nil else { return (nil, false) }
            return state.waiters.count == 1 ? (nil, true) : (state.waiters.removeValue(forKey: number), false)
        }
        if isLast { cancel() }
        waiter?.resume(returning: .failure(CancellationError()))
    }

    /// Ends the download once, and resumes every awaiting task exactly once (rule R4 in Concurrency.md).
    private func finish(_ outcome: Outcome) {
        let waiters = box.withLock { state -> [Waiter]? in
            if case .finished = state.phase { return nil }
            defer {
                state.phase = .finished(outcome)
                state.waiters = [:]
            }
            return Array(state.waiters.values)
        }
        guard let waiters else { return }
        feed.end()
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}

extension SegmentedDownload: CustomReflectable {
    /// A mirror without the download's URL and headers.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
