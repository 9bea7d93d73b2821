public import Observation

/// A request's progress for a view: an observable object on the main actor.
///
///     struct DownloadView: View {
///         let progress: RequestProgress
///
///         var body: some View {
///             ProgressView(value: progress.fraction)
///             if let rate = progress.bytesPerSecond { Text("\(Int(rate / 1_000)) kB/s") }
///             if let error = progress.error { Text(error.localizedDescription) }
///         }
///     }
///
///     let view = DownloadView(progress: request.makeObservableProgress())
///
/// It changes at most ten times in a second. The final values arrive at once. Creating it does not start the request.
/// It can be created at any time, also after the request has finished. It does not keep the request alive, and the
/// request does not keep it alive.
///
/// It is `Observable` where the Observation framework exists: on Linux, and from macOS 14 and iOS 17 on. On older
/// systems its values change in the same way, without a notification.
@MainActor
public final class RequestProgress {
    /// The direction in which bytes are transferred.
    public enum Phase: Sendable, Hashable {
        /// The request's body is sent.
        case upload
        /// The response's body is received.
        case download
    }

    private var meter: ProgressMeter
    private var values: ProgressValues
    private var observer: Task<Void, Never>?
    private weak var follower: Follower<Void>?
    /// An `ObservationRegistrar`; nil on systems without it. Its type cannot be named there.
    private let registrar: (any Sendable)?

    /// Creates a progress of the request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - phase: The phase to measure. Nil, the default, follows the request: the upload while its body is sent, then
    ///     the download.
    public init(_ request: some Request, of phase: Phase? = nil) {
        meter = ProgressMeter(only: phase, first: request is UploadRequest ? .upload : .download)
        values = meter.values
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
            registrar = ObservationRegistrar()
        } else {
            registrar = nil
        }
        let core = request.handle.core
        let elapsed = core.context.configuration.clock.stopwatch()
        let (follower, changes) = Follower<Void>.make(.bufferingNewest(1))
        // First the follower, then the first values, so that no change is missed.
        core.add(follower, to: .changes)
        let first = core.read { $0.progressSnapshot }
        _ = update(with: first, at: elapsed())
        guard !first.isFinal else { return }
        self.follower = follower
        observer = Self.observe(core, changes, follower, elapsed, for: self)
    }

    deinit {
        observer?.cancel()
        follower?.end()  // the task may not have begun to read the stream
    }

    /// The status of the request. A request that has failed is `finished` and has an ``error``.
    public var status: RequestStatus { read(\.status, \.status) }

    /// The phase that the other values are about.
    public var phase: Phase { read(\.phase, \.phase) }

    /// The number of bytes that were transferred in this phase, as sent over the network.
    public var completedBytes: UInt64 { read(\.completedBytes, \.completedBytes) }

    /// The number of bytes to transfer in this phase; nil if it is not known yet.
    public var totalBytes: UInt64? { read(\.totalBytes, \.totalBytes) }

    /// The completed fraction of this phase, from 0 to 1; nil if the total is unknown.
    public var fraction: Double? { read(\.fraction, \.fraction) }

    /// The rate, averaged over about three seconds; nil while it is unknown, or if no bytes may flow.
    public var bytesPerSecond: Double? { read(\.bytesPerSecond, \.bytesPerSecond) }

    /// The estimated remaining time of this phase; nil if the rate or the total is unknown.
    public var timeLeft: Duration? { read(\.timeLeft, \.timeLeft) }

    /// The reason why the request failed; nil until it has finished, or if it succeeded.
    public var error: RequestError? { read(\.error, \.error) }
}

extension Request {
    /// Returns an observable object with the request's progress, for a view.
    ///
    ///     let progress = download.makeObservableProgress()
    ///     ProgressView(value: progress.fraction)
    ///
    /// - Parameter phase: The phase to measure. Nil, the default, follows the request: the upload while its body is
    ///   sent, then the download.
    @MainActor
    public func makeObservableProgress(of phase: RequestProgress.Phase? = nil) -> RequestProgress {
        RequestProgress(self, of: phase)
    }
}

// MARK: Observation

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
extension RequestProgress: Observable {}

extension RequestProgress {
    private func read<Member>(
        _ property: KeyPath<RequestProgress, Member>, _ value: KeyPath<ProgressValues, Member>
    ) -> Member {
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
            (registrar as? ObservationRegistrar)?.access(self, keyPath: property)
        }
        return values[keyPath: value]
    }

    /// Sets a value if it has changed, so that a view that reads the others is not updated.
    private func set<Member>(
        _ property: KeyPath<RequestProgress, Member>, _ value: WritableKeyPath<ProgressValues, Member>,
        unless isSame: (Member, Member) -> Bool
    ) {
        let new = meter.values[keyPath: value]
        guard !isSame(values[keyPath: value], new) else { return }
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *),
            let registrar = registrar as? ObservationRegistrar
        {
            registrar.withMutation(of: self, keyPath: property) { values[keyPath: value] = new }
        } else {
            values[keyPath: value] = new
        }
    }

    /// Shows the snapshot. Returns whether the rate has to be computed again, even if the request does not change.
    private func update(with snapshot: ProgressSnapshot, at time: Duration) -> Bool {
        meter.update(with: snapshot, at: time)
        set(\.phase, \.phase, unless: ==)
        set(\.completedBytes, \.completedBytes, unless: ==)
        set(\.totalBytes, \.totalBytes, unless: ==)
        set(\.fraction, \.fraction, unless: ==)
        set(\.bytesPerSecond, \.bytesPerSecond, unless: ==)
        set(\.timeLeft, \.timeLeft, unless: ==)
        set(\.error, \.error) { ($0 == nil) == ($1 == nil) }
        // The last one, so that the others are up to date when an observer sees the end.
        set(\.status, \.status, unless: ==)
        return meter.isMoving
    }

    /// Follows the request until it has finished or the progress is released.
    ///
    /// The task is unstructured, because the caller does not wait. It runs outside the main actor, where the many
    /// changes of a request would delay other code, and keeps the request's core, because the request itself may be
    /// released at its finish, before the final values are read.
    private nonisolated static func observe(
        _ core: RequestCore, _ changes: AsyncStream<Void>, _ follower: Follower<Void>,
        _ elapsed: @escaping @Sendable () -> Duration, for progress: RequestProgress
    ) -> Task<Void, Never> {
        let clock = core.context.configuration.clock
        return Task { [weak progress, weak follower] in
            var pacer = UpdatePacer()
            var timer: Task<Void, Never>?
            func wake(after delay: Duration) {
                timer?.cancel()
                timer = Task { [weak follower] in
                    if (try? await clock.sleep(for: delay)) != nil { _ = follower?.tell(()) }
                }
            }
            for await _ in changes {
                let time = elapsed()
                switch pacer.changed(at: time) {
                case .none: break
                case .wait(let delay): wake(after: delay)
                case .update:
                    timer?.cancel()
                    let isMoving = await progress?.update(with: core.read { $0.progressSnapshot }, at: time) ?? false
                    if isMoving { wake(after: UpdatePacer.stallInterval) }
                }
            }
            timer?.cancel()
            guard !Task.isCancelled else { return }
            _ = await progress?.update(with: core.read { $0.progressSnapshot }, at: elapsed())
        }
    }
}

extension RequestTopic {
    /// Every change of a request's status or progress. A follower that needs the values reads a snapshot.
    static var changes: RequestTopic<Void> {
        RequestTopic<Void>(followers: \.changes, buffering: .bufferingNewest(1)) { _, _ in [] }
    }
}

extension RequestCore {
    /// Tells the followers that the request's status or progress has changed.
    func tellChange(to followers: [Follower<Void>]) {
        if !followers.isEmpty { tell((), to: followers, of: .changes) }
    }
}

extension RequestState {
    var progressSnapshot: ProgressSnapshot {
        let hop = lastHop
        let isSending = hop.map { $0.head == nil && $0.request.body.length != 0 }
        return ProgressSnapshot(
            status: status, phase: isSending.map { $0 ? .upload : .download }, uploaded: uploaded,
            downloaded: downloaded, isFinal: exchange != nil, error: exchange?.error)
    }
}
