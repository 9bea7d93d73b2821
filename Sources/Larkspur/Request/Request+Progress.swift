extension Request {
    /// How much of the request's body has been sent.
    ///
    ///     for await progress in upload.uploadProgress { print(progress.fraction ?? 0) }
    public var uploadProgress: ProgressSequence { RequestSequence(self, .upload) }

    /// How much of the response's body has come, as it is sent: before its content coding is undone. A download that goes on
    /// with a partial file begins with what is there.
    ///
    ///     for await progress in download.downloadProgress { print(progress.fraction ?? 0) }
    public var downloadProgress: ProgressSequence { RequestSequence(self, .download) }

    /// Calls the closure as the request's body is sent, one call at a time, with the latest value of each moment: on a
    /// task of its own, or on an actor with `{ @MainActor progress in … }`. It does not start the request, and is held, with
    /// all that it holds, until the request has ended or is let go of.
    @discardableResult
    public func uploadProgress(perform handler: @escaping @Sendable (TransferProgress) async -> Void) -> Self {
        follow(.upload, handler)
    }

    /// Calls the closure as the response's body comes, in the same way as for the request's.
    @discardableResult
    public func downloadProgress(perform handler: @escaping @Sendable (TransferProgress) async -> Void) -> Self {
        follow(.download, handler)
    }

    /// Foundation's value for how much of the request's body has been sent, as views and parent progresses take it, with
    /// its rate and the time that is left. Cancelling, pausing and resuming it does so to the request. It does not start the
    /// request. Several threads may use it; a parent that it is given is safe for them on Apple's platforms alone.
    public func makeUploadProgress() -> Progress { makeProgress(.upload) }

    /// The same for how much of the response's body has come.
    public func makeDownloadProgress() -> Progress { makeProgress(.download) }

    private func follow(
        _ topic: RequestTopic<TransferProgress>, _ handler: @escaping @Sendable (TransferProgress) async -> Void
    ) -> Self {
        let stream = handle.core.follow(topic)
        // Unstructured, one for each closure: it ends with the stream, and the stream with the request.
        Task { for await progress in stream { await handler(progress) } }
        return self
    }

    private func makeProgress(_ topic: RequestTopic<TransferProgress>) -> Progress {
        let progress = SharedProgress(totalUnitCount: -1)
        progress.cancellationHandler = { [weak self] in _ = self?.cancel() }
        (progress.isCancellable, progress.isPausable) = (true, true)
        progress.pausingHandler = { [weak self] in _ = self?.suspend() }
        progress.resumingHandler = { [weak self] in _ = self?.resume() }
        let stream = handle.core.follow(topic)
        Task { [weak self] in
            var rate = TransferRate()
            for await current in stream {
                progress.totalUnitCount = current.total.map(Int64.init(clamping:)) ?? -1
                progress.completedUnitCount = Int64(clamping: current.completed)
                rate.update(current.completed, at: .now)
                let timeLeft = rate.timeLeft(of: current).map { $0 / .seconds(1) }
                progress.setUserInfoObject(rate.bytesPerSecond.map { Int($0) }, forKey: .throughputKey)
                progress.setUserInfoObject(timeLeft, forKey: .estimatedTimeRemainingKey)
            }
            // A body of unknown length has the length that was sent; an empty one counts as one piece, or it would never end.
            // Of a request that is gone nobody knows how it ended.
            guard progress.totalUnitCount <= 0, let self, self.error == nil else { return }
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

    static var download: RequestTopic<TransferProgress> {
        RequestTopic<TransferProgress>(followers: \.download, buffering: .bufferingNewest(1)) { state, told in
            state.downloaded.flatMap { $0 == told.last ? nil : [$0] } ?? []
        }
    }
}

extension RequestState {
    /// How much of the response's body has come. What a later attempt brings once more is not counted again.
    ///
    /// It is put together when somebody asks: to read a length costs, and of most requests nobody wants to know.
    var downloaded: TransferProgress? {
        for hop in allHops.reversed() {
            if let extent = hop.extent { return extent.progress(after: received) }
        }
        return nil
    }

    /// What those who follow the request are to be told of a fact of the transport; nothing for most, whom nobody follows.
    func news(of event: TransportEvent, for id: TransportTaskID) -> News? {
        let (heads, followers) = (settings.content.followers.responses, settings.content.followers.download)
        guard !(heads.isEmpty && followers.isEmpty), let hop, hop.id == id else { return nil }
        let progress =
            followers.isEmpty || !hop.isCounted ? nil : hop.currentExtent?.progress(after: received) ?? downloaded
        switch event {
        case .head(let head): return News(head: head, heads: heads, progress: progress, followers: followers)
        case .body: return News(head: nil, heads: [], progress: progress, followers: followers)
        case .bodySent, .metrics, .completed: return nil
        }
    }

    struct News {
        fileprivate let head: ResponseHead?
        fileprivate let heads: [RequestFollower<ResponseHead>]
        fileprivate let progress: TransferProgress?
        fileprivate let followers: [RequestFollower<TransferProgress>]
    }
}

extension RequestCore {
    func tell(_ news: RequestState.News) {
        if let head = news.head { tell(head, to: news.heads, of: .responses) }
        if let progress = news.progress { tell(progress, to: news.followers, of: .download) }
    }
}

/// Which of a file's bytes a response's body brings.
struct BodyExtent {
    private let offset: UInt64
    private let total: UInt64?
    /// The response says that all bytes were there before.
    private let isWhole: Bool

    /// Nil for a response without a body that somebody gets.
    init?(of head: ResponseHead, to request: OutgoingRequest) {
        guard request.method != .head, head.status != 304, !HopPolicy.isAnswered(head, to: request) else { return nil }
        let there = request.options.resumption?.offset ?? 0
        isWhole = request.options.resumption?.answer(in: head) == .nothing
        offset = isWhole || head.status == 206 ? there : 0
        // A length near the largest number is a lie, whatever becomes of it.
        let length = head.bodyIsDecoded ? nil : head.contentLength
        total = isWhole ? there : length.map { [offset] in $0.addingReportingOverflow(offset).partialValue }
    }

    /// - Parameter received: How many bytes have come, those that were there before among them.
    func progress(after received: UInt64) -> TransferProgress {
        let completed = isWhole ? offset : max(received, offset)
        return TransferProgress(completed: min(completed, total ?? .max), total: total)
    }
}

extension Hop {
    fileprivate var extent: BodyExtent? { head.flatMap { BodyExtent(of: $0, to: request) } }
}

extension HopProgress {
    /// Read from the head once: to read a length costs, and it is asked for with every event.
    fileprivate var currentExtent: BodyExtent? {
        if extent == nil { extent = head.flatMap { BodyExtent(of: $0, to: request) } }
        return extent
    }
}

/// How fast a body comes: an average in which the last seconds count most.
struct TransferRate {
    private static let window = Duration.seconds(3)

    private(set) var bytesPerSecond: Double?
    private var last: (count: UInt64, time: ContinuousClock.Instant)?

    /// Too many values in too short a time say little, so they are taken together.
    mutating func update(_ count: UInt64, at time: ContinuousClock.Instant) {
        guard let last, count >= last.count else {
            self.last = (count, time)
            return
        }
        let seconds = last.time.duration(to: time) / .seconds(1)
        guard seconds >= 0.1 else { return }
        let rate = Double(count - last.count) / seconds
        let weight = min(1, seconds / (Self.window / .seconds(1)))
        bytesPerSecond = bytesPerSecond.map { $0 + (rate - $0) * weight } ?? rate
        self.last = (count, time)
    }

    /// Nil while nobody can know.
    func timeLeft(of progress: TransferProgress) -> Duration? {
        guard let bytesPerSecond, bytesPerSecond > 0, let total = progress.total else { return nil }
        return .seconds(Double(total - min(total, progress.completed)) / bytesPerSecond)
    }
}
