/// A request's progress at one moment, read in one access to the request's state.
struct ProgressSnapshot: Sendable {
    let status: RequestStatus
    /// The direction in which the last hop transfers a body; nil before the first hop.
    let phase: RequestProgress.Phase?
    /// Nil until the first bytes are sent.
    let uploaded: TransferProgress?
    /// Nil until the head of a response with a body has arrived.
    let downloaded: TransferProgress?
    /// Whether the request has finished: nothing changes any more.
    let isFinal: Bool
    let error: RequestError?
}

/// The values that a `RequestProgress` shows.
struct ProgressValues: Sendable {
    var status = RequestStatus.initialized
    var phase: RequestProgress.Phase
    var completedBytes: UInt64 = 0
    var totalBytes: UInt64?
    var fraction: Double?
    var bytesPerSecond: Double?
    var timeLeft: Duration?
    var error: RequestError?
}

/// Computes the values of a `RequestProgress` from snapshots of the request, with the time of each.
struct ProgressMeter: Sendable {
    private(set) var values: ProgressValues
    /// The only phase that is measured; nil if the phase follows the request.
    private let onlyPhase: RequestProgress.Phase?
    private var rate = TransferRate()
    /// The rate counts instants from here, because the session's clock may be any clock.
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - onlyPhase: The only phase to measure; nil if the phase follows the request.
    ///   - firstPhase: The phase before the first hop.
    init(only onlyPhase: RequestProgress.Phase?, first firstPhase: RequestProgress.Phase) {
        self.onlyPhase = onlyPhase
        values = ProgressValues(phase: onlyPhase ?? firstPhase)
    }

    /// Whether the rate has to be computed again even if the request does not change, because it falls.
    var isMoving: Bool { values.bytesPerSecond ?? 0 > 0 }

    /// - Parameter time: The time since the first snapshot.
    mutating func update(with snapshot: ProgressSnapshot, at time: Duration) {
        values.status = snapshot.status
        values.error = snapshot.error
        let phase = onlyPhase ?? snapshot.phase ?? values.phase
        if phase != values.phase || snapshot.status != .resumed { rate = TransferRate() }
        values.phase = phase
        let progress = phase == .upload ? snapshot.uploaded : snapshot.downloaded
        if let progress, snapshot.status == .resumed { rate.update(progress.completed, at: start + time) }
        values.completedBytes = progress?.completed ?? 0
        values.totalBytes = progress?.total
        // A body of unknown length is complete when the request has succeeded.
        if snapshot.isFinal, snapshot.error == nil, progress?.total == nil { values.totalBytes = values.completedBytes }
        let shown = TransferProgress(completed: values.completedBytes, total: values.totalBytes)
        values.fraction = shown.fraction
        // The average approaches zero and never reaches it.
        values.bytesPerSecond = rate.bytesPerSecond.map { $0 < 1 ? 0 : $0 }
        values.timeLeft = isMoving ? rate.timeLeft(of: shown) : nil
    }
}

/// Limits how often a `RequestProgress` changes: at once if the last update is long enough ago, otherwise later.
struct UpdatePacer: Sendable {
    static let interval = Duration.milliseconds(100)
    /// The time after which a rate is computed again if no byte arrives.
    static let stallInterval = Duration.seconds(1)
    /// A timer that fires this much too early is on time.
    private static let tolerance = Duration.milliseconds(2)

    private var earliest = Duration.zero
    private var awaitsTimer = false

    enum Step: Equatable, Sendable {
        case update
        /// Ask again after this time.
        case wait(Duration)
        /// A timer will ask again.
        case none
    }

    /// Returns what to do about a change.
    mutating func changed(at time: Duration) -> Step {
        guard time + Self.tolerance >= earliest else {
            return awaitsTimer.setOnce() ? .wait(earliest - time) : .none
        }
        (earliest, awaitsTimer) = (time + Self.interval, false)
        return .update
    }
}
