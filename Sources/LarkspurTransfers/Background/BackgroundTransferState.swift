/// The state of a background transfer. It has no side effects: its functions return the action of the task that drives
/// the transfer.
struct BackgroundTransferState {
    /// The last request of the caller.
    enum Wish: Sendable {
        case run
        case pause
        case cancel
        /// End without the transfer's end, so that a later run continues it.
        case close
    }

    enum Phase: Sendable {
        /// A task drives the transfer.
        case running
        case paused
        case finished(BackgroundOutcome)
        case cancelled
        case closed
    }

    /// The end of one run of the transfer.
    enum End: Sendable {
        case done(BackgroundTransfer.Response)
        case failed(RequestError)
        /// The run has not begun, because the caller no longer wants it.
        case skipped
    }

    enum Action: Sendable {
        /// Begin another run.
        case runAgain
        /// Write that the transfer is paused, then call `didPause`.
        case savePause
        /// Write the outcome, then call `finish`.
        case saveOutcome(BackgroundOutcome)
        /// Remove all files of the transfer, then call `finish`.
        case discard
        case close
    }

    var record: BackgroundRecord
    private(set) var phase: Phase
    private(set) var wish = Wish.run
    /// Cancels the request in flight; nil while there is none.
    private var stop: (@Sendable () -> Void)?
    /// Whether the caller has ended the current run.
    private var isStopping = false
    var waiters: [UInt64: Continuation<Phase>] = [:]
    var lastWaiter: UInt64 = 0
    /// The tasks that wait until no task drives the transfer.
    var idlers: [Continuation<Void>] = []

    init(_ record: BackgroundRecord) {
        self.record = record
        phase =
            if case .finished(let outcome) = record.phase {
                .finished(BackgroundOutcome(outcome, of: record))
            } else {
                record.isPaused ? .paused : .running
            }
    }

    var isRunning: Bool {
        if case .running = phase { true } else { false }
    }

    /// The effect of a caller's request: the request in flight to cancel, whether a task must be started, the tasks
    /// that need no longer wait for a pause, and those that await the end.
    struct Effect {
        var stop: (@Sendable () -> Void)?
        var starts = false
        var idlers: [Continuation<Void>] = []
        var waiters: [Continuation<Phase>] = []
    }

    mutating func ask(_ wish: Wish) -> Effect {
        switch (phase, wish) {
        case (.running, _):
            // A cancellation or the end of the process stands.
            if self.wish == .cancel || self.wish == .close && wish != .cancel { return Effect() }
            self.wish = wish
            guard wish != .run else { return Effect(idlers: takeIdlers()) }
            isStopping = true
            return Effect(stop: stop.take())
        case (.paused, .run), (.paused, .cancel):
            self.wish = wish
            phase = .running
            return Effect(starts: true)
        case (.paused, .close):
            return Effect(waiters: finish(.closed))
        case (.paused, .pause), (.finished, _), (.cancelled, _), (.closed, _):
            return Effect()
        }
    }

    /// Begins a run. Returns nil if the caller does not want one.
    mutating func beginRun() -> BackgroundRecord? {
        isStopping = false
        stop = nil
        return wish == .run ? record : nil
    }

    /// Stores the closure that cancels the request in flight. Returns false if it must be called at once.
    mutating func setStop(_ stop: @escaping @Sendable () -> Void) -> Bool {
        if isStopping { return false }
        self.stop = stop
        return true
    }

    /// Returns the action after a run. A result counts even if the caller wanted to pause meanwhile.
    mutating func end(_ end: End) -> Action {
        stop = nil
        switch (wish, end) {
        case (.cancel, _): return .discard
        case (_, .done(let response)): return .saveOutcome(.success(response))
        case (.close, _): return .close
        case (_, .failed(let error)) where !(error.isCancelled && isStopping):
            return .saveOutcome(.failure(error))
        case (.pause, _): return .savePause
        case (.run, _): return .runAgain
        }
    }

    /// Pauses. Returns false if the caller wanted something else meanwhile.
    mutating func didPause() -> Bool {
        guard wish == .pause else { return false }
        phase = .paused
        return true
    }

    mutating func finish(_ phase: Phase) -> [Continuation<Phase>] {
        self.phase = phase
        defer { waiters = [:] }
        return Array(waiters.values)
    }

    mutating func takeIdlers() -> [Continuation<Void>] {
        defer { idlers = [] }
        return idlers
    }
}

typealias BackgroundOutcome = Result<BackgroundTransfer.Response, RequestError>

extension BackgroundOutcome {
    /// Restores the outcome that a record has.
    init(_ stored: BackgroundRecord.Outcome, of record: BackgroundRecord) {
        switch stored {
        case .success(let head, let file, let body):
            self = .success(BackgroundTransfer.Response(head: head.head, fileURL: file?.url, data: body))
        case .failure(let code, let message, let head):
            let error = RequestError(RequestError.Code(rawValue: code), message)
            let hop = (try? record.request).map { Hop(request: $0, head: head?.head) }
            self = .failure(hop.map { error.adding(to: CompletedExchange(hop: $0), requestID: nil) } ?? error)
        }
    }

    var stored: BackgroundRecord.Outcome {
        switch self {
        case .success(let response):
            .success(
                BackgroundRecord.Head(response.head), file: response.fileURL.map { StoredPath(path: $0.path) },
                body: response.data)
        case .failure(let error):
            .failure(
                code: error.code.rawValue, message: error.message,
                error.responseHead.map { BackgroundRecord.Head($0) })
        }
    }
}
