extension Request {
    /// The progress of sending the request's body.
    ///
    /// Iterating the sequence starts the request, and the sequence ends when the request has finished. Attach
    /// validators before you iterate. A slow reader gets the latest value, and misses earlier values.
    ///
    ///     for await progress in upload.uploadProgress { print(progress.fraction ?? 0) }
    public var uploadProgress: RequestSequence<TransferProgress> { RequestSequence(self, .upload) }

    /// The progress of receiving the response's body.
    ///
    /// Iterating the sequence starts the request, and the sequence ends when the request has finished. Attach
    /// validators before you iterate. A slow reader gets the latest value, and misses earlier values.
    ///
    ///     for await progress in download.downloadProgress { print(progress.fraction ?? 0) }
    ///
    /// The progress counts received bytes, before their content coding is decoded. The progress of a resumed download
    /// begins with the length of its partial file.
    public var downloadProgress: RequestSequence<TransferProgress> { RequestSequence(self, .download) }

    /// Calls the closure with the progress of sending the request's body.
    ///
    ///     upload.uploadProgress { @MainActor progress in bar.fraction = progress.fraction ?? 0 }
    ///
    /// The closure runs in its own task, or on an actor as in the example. Calls do not overlap, and each call gets the
    /// latest value. Attaching the closure does not start the request. The closure is released when the request has
    /// finished or is released.
    @discardableResult
    public func uploadProgress(perform handler: @escaping @Sendable (TransferProgress) async -> Void) -> Self {
        follow(.upload, handler)
    }

    /// Calls the closure with the progress of receiving the response's body. In all other respects this method works
    /// like ``uploadProgress(perform:)``.
    @discardableResult
    public func downloadProgress(perform handler: @escaping @Sendable (TransferProgress) async -> Void) -> Self {
        follow(.download, handler)
    }

    private func follow(
        _ topic: RequestTopic<TransferProgress>, _ handler: @escaping @Sendable (TransferProgress) async -> Void
    ) -> Self {
        let stream = handle.core.follow(topic)
        // Start an unstructured task, because the caller does not wait for the closure. The task ends with the request.
        Task { for await progress in stream { await handler(progress) } }
        return self
    }
}

extension RequestCore {
    /// Returns a stream of the progress of sending, which ends with the request.
    package func followUpload() -> AsyncStream<TransferProgress> { follow(.upload) }

    /// Returns a stream of the progress of receiving, which ends with the request.
    package func followDownload() -> AsyncStream<TransferProgress> { follow(.download) }
}

extension RequestTopic {
    static var upload: RequestTopic<TransferProgress> {
        RequestTopic<TransferProgress>(followers: \.upload, buffering: .bufferingNewest(1)) { state, sent in
            state.uploaded.flatMap { $0 == sent.last ? nil : [$0] } ?? []
        }
    }

    static var download: RequestTopic<TransferProgress> {
        RequestTopic<TransferProgress>(followers: \.download, buffering: .bufferingNewest(1)) { state, sent in
            state.downloaded.flatMap { $0 == sent.last ? nil : [$0] } ?? []
        }
    }
}

extension RequestState {
    /// The progress of receiving the response's body. Bytes that a later attempt receives again are counted once.
    ///
    /// The value is computed on demand, because parsing the length takes time and most requests have no observer.
    var downloaded: TransferProgress? {
        for hop in allHops.reversed() {
            if let extent = hop.extent { return extent.progress(after: received) }
        }
        return nil
    }

    /// Returns the values to send to the request's followers after an event of the transport; nil if there are none.
    func news(of event: TransportEvent, for id: TransportTaskID) -> News? {
        guard settings.content.followers.needNews, let hop, hop.id == id else { return nil }
        let (heads, followers) = (settings.content.followers.heads, settings.content.followers.download)
        let changes = settings.content.followers.changes
        let progress =
            followers.isEmpty || !hop.isCounted ? nil : hop.currentExtent?.progress(after: received) ?? downloaded
        switch event {
        case .information(let head):
            return News(information: head, heads: settings.content.followers.information, changes: changes)
        case .head(let head):
            return News(head: head, heads: heads, progress: progress, followers: followers, changes: changes)
        case .body: return News(progress: progress, followers: followers, changes: changes)
        case .bodySent: return News(changes: changes)
        case .admission, .waitsForNetwork, .cache, .trailers, .metrics, .completed: return nil
        }
    }

    struct News {
        fileprivate var information: ResponseHead?
        fileprivate var head: ResponseHead?
        fileprivate var heads: [Follower<ResponseHead>] = []
        fileprivate var progress: TransferProgress?
        fileprivate var followers: [Follower<TransferProgress>] = []
        fileprivate var changes: [Follower<Void>]
    }
}

extension RequestCore {
    func tell(_ news: RequestState.News) {
        if let head = news.information { tell(head, to: news.heads, of: .information) }
        if let head = news.head { tell(head, to: news.heads, of: .heads) }
        if let progress = news.progress { tell(progress, to: news.followers, of: .download) }
        tellChange(to: news.changes)
    }
}

/// The range of a file's bytes that a response's body contains.
struct BodyExtent {
    private let offset: UInt64
    private let total: UInt64?
    /// Whether the response says that the partial file is already complete.
    private let isWhole: Bool

    /// Creates the range; nil for a response without a body for the user, such as a redirect that is followed.
    init?(of head: ResponseHead, to request: OutgoingRequest) {
        guard request.method != .head, head.status != 304, !HopPolicy.isAnswered(head, to: request) else { return nil }
        let start = request.options.resumption?.offset ?? 0
        isWhole = request.options.resumption?.answer(in: head) == .nothing
        offset = isWhole || head.status == 206 ? start : 0
        // Let the sum overflow, because a length near `UInt64.max` is wrong anyway.
        let length = head.bodyIsDecoded ? nil : head.contentLength
        total = isWhole ? start : length.map { [offset] in $0.addingReportingOverflow(offset).partialValue }
    }

    /// Returns the progress of the download.
    ///
    /// - Parameter received: The number of bytes so far, including the bytes of the partial file.
    func progress(after received: UInt64) -> TransferProgress {
        let completed = isWhole ? offset : max(received, offset)
        return TransferProgress(completed: min(completed, total ?? .max), total: total)
    }
}

extension Hop {
    fileprivate var extent: BodyExtent? { head.flatMap { BodyExtent(of: $0, to: request) } }
}

extension HopProgress {
    /// The range of the hop's body. It is parsed once from the head and then stored, because every body event needs it.
    fileprivate var currentExtent: BodyExtent? {
        if extent == nil { extent = head.flatMap { BodyExtent(of: $0, to: request) } }
        return extent
    }
}

/// The rate at which a body is transferred: a moving average over about three seconds.
struct TransferRate {
    private static let window = Duration.seconds(3)

    private(set) var bytesPerSecond: Double?
    private var last: (count: UInt64, time: ContinuousClock.Instant)?

    /// Adds a value. Skips a value less than a tenth of a second after the last one, because a rate over so short a
    /// time is not precise.
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

    /// Returns the estimated remaining time; nil while the rate or the total is unknown, or if it is longer than a
    /// century. The server declares the total, and `Duration` traps if a number of seconds is too large for it.
    func timeLeft(of progress: TransferProgress) -> Duration? {
        guard let bytesPerSecond, bytesPerSecond > 0, let total = progress.total else { return nil }
        let seconds = Double(total - min(total, progress.completed)) / bytesPerSecond
        return seconds <= 100 * 366 * 86_400 ? .seconds(seconds) : nil
    }
}
