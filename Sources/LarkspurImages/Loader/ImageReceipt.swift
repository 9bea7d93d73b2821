import Larkspur
internal import LarkspurAnnex

/// The claim of one caller to an image of an ``ImageLoader``.
///
/// Equal URLs share one request, and each caller has a receipt. A cancelled receipt does not affect the others; the
/// loader cancels the request when its last receipt is cancelled. A receipt that is released without a cancel still
/// loads the image into the cache.
public final class ImageReceipt: Sendable {
    private struct Load {
        var result: Result<DecodedImage, RequestError>?
        var waiting: [Int: CheckedContinuation<Result<DecodedImage, RequestError>, Never>] = [:]
        var readers: [Int: AsyncStream<DecodedImage>.Continuation] = [:]
        private(set) var preview: DecodedImage?
        private var version = 0
        private var nextID = 0

        enum Addition {
            case done
            case missing(DecodedImage, version: Int)
        }

        mutating func makeID() -> Int {
            defer { nextID += 1 }
            return nextID
        }

        /// Adds a reader, unless it does not have the latest preview yet. `known` is the version that it has.
        mutating func add(
            _ reader: AsyncStream<DecodedImage>.Continuation, _ id: Int, known: Int
        ) -> Addition {
            guard result == nil else { return .done }
            if let preview, version != known { return .missing(preview, version: version) }
            readers[id] = reader
            return .done
        }

        /// Returns the readers of a preview, and the preview that it replaces.
        mutating func replace(
            by preview: DecodedImage
        ) -> (readers: [AsyncStream<DecodedImage>.Continuation], replaced: DecodedImage?) {
            guard result == nil else { return ([], nil) }
            defer {
                self.preview = preview
                version += 1
            }
            return (Array(readers.values), self.preview)
        }
    }

    private enum Content {
        /// The receipt ended when it was created, as with an image from the memory cache.
        case ended(Result<DecodedImage, RequestError>)
        case loading(Guarded<Load>, leave: @Sendable (ImageReceipt) -> Void)
    }

    /// The URL and the bounds of the thumbnail; nil if the URL is not valid.
    public let key: ImageKey?
    let priority: RequestPriority
    let wantsPreviews: Bool
    private let content: Content

    init(
        _ key: ImageKey?, priority: RequestPriority, wantsPreviews: Bool = false,
        leave: @escaping @Sendable (ImageReceipt) -> Void
    ) {
        (self.key, self.priority, self.wantsPreviews) = (key, priority, wantsPreviews)
        content = .loading(Guarded(Load()), leave: leave)
    }

    /// Creates a receipt that has ended.
    init(_ key: ImageKey?, priority: RequestPriority, ended result: Result<DecodedImage, RequestError>) {
        (self.key, self.priority, wantsPreviews) = (key, priority, false)
        content = .ended(result)
    }

    /// The image, once it is loaded and decoded. Any number of tasks may await it.
    ///
    /// A cancel of the awaiting task cancels the receipt, unless another task awaits the image. Throws
    /// `CancellationError` if the receipt or the awaiting task was cancelled, else a `RequestError`.
    public var image: DecodedImage {
        get async throws {
            switch await outcome {
            case .success(let image): return image
            case .failure(let error): throw error.isCancelled ? CancellationError() : error
            }
        }
    }

    /// The image or the error, once the receipt has ended or the awaiting task is cancelled.
    var outcome: Result<DecodedImage, RequestError> {
        get async {
            if let result { return result }
            guard case .loading(let load, _) = content else { return .failure(Self.cancelled) }
            let id = load.withLock { $0.makeID() }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let ended = load.withLock { load in
                        if load.result == nil { load.waiting[id] = continuation }
                        return load.result
                    }
                    if let ended { continuation.resume(returning: ended) }
                    // The handler may have run before the task waited.
                    if Task.isCancelled { stopWaiting(id, for: load) }
                }
            } onCancel: {
                stopWaiting(id, for: load)
            }
        }
    }

    /// The number of tasks that await the image.
    var waitingCount: Int {
        guard case .loading(let load, _) = content else { return 0 }
        return load.withLock { $0.waiting.count }
    }

    private func stopWaiting(_ id: Int, for load: Guarded<Load>) {
        let (waiting, isLast) = load.withLock { ($0.waiting.removeValue(forKey: id), $0.waiting.isEmpty) }
        guard let waiting else { return }
        waiting.resume(returning: .failure(Self.cancelled))
        if isLast { cancel() }
    }

    private static let cancelled = RequestError(.cancelled, "the receipt of the image was cancelled")

    /// Previews of the image while its file arrives, each better than the one before.
    ///
    ///     let receipt = loader.load(url, previews: true)
    ///     for await preview in receipt.previews { view.show(preview) }
    ///     view.show(try await receipt.image)
    ///
    /// The sequence ends when the receipt does, and a cancel of the reading task ends it too, without a cancel of the
    /// receipt. A slow reader misses previews: only the latest one is kept. The sequence is empty for a receipt without
    /// previews, for an image from a cache, and if the decoder makes no previews of the file. Each access returns a
    /// sequence of its own.
    public var previews: AsyncStream<DecodedImage> {
        let (stream, reader) = AsyncStream.makeStream(of: DecodedImage.self, bufferingPolicy: .bufferingNewest(1))
        guard wantsPreviews, case .loading(let load, _) = content else {
            reader.finish()
            return stream
        }
        let id = load.withLock { $0.makeID() }
        reader.onTermination = { _ in _ = load.withLock { $0.readers.removeValue(forKey: id) } }
        // A reader is added once it has the latest preview, so that it never gets an older one after a newer one.
        var known = 0
        while case .missing(let preview, let version) = load.withLock({ $0.add(reader, id, known: known) }) {
            known = version
            reader.yield(preview)
        }
        if result != nil { reader.finish() }
        return stream
    }

    /// The latest preview, until the receipt ends.
    var latestPreview: DecodedImage? {
        guard case .loading(let load, _) = content else { return nil }
        return load.withLock { $0.preview }
    }

    /// The image or the error, if the receipt has ended; else nil. An image from the memory cache is there at once.
    public var result: Result<DecodedImage, RequestError>? {
        switch content {
        case .ended(let result): result
        case .loading(let load, _): load.withLock { $0.result }
        }
    }

    /// Cancels this receipt. Does nothing if it has ended.
    public func cancel() {
        guard case .loading(_, let leave) = content,
            end(.failure(Self.cancelled))
        else { return }
        leave(self)
    }

    /// Passes a preview to the readers. Does nothing if the receipt has ended.
    func show(_ preview: DecodedImage) {
        guard case .loading(let load, _) = content else { return }
        for reader in load.withLock({ $0.replace(by: preview) }).readers { reader.yield(preview) }
    }

    /// Ends the receipt. Returns false if it has ended before.
    @discardableResult
    func end(_ result: Result<DecodedImage, RequestError>) -> Bool {
        guard case .loading(let load, _) = content else { return false }
        let ended = load.withLock { load -> Load? in
            guard load.result == nil else { return nil }
            let ended = load
            load = Load()
            load.result = result
            return ended
        }
        guard let ended else { return false }
        for reader in ended.readers.values { reader.finish() }
        for continuation in ended.waiting.values { continuation.resume(returning: result) }
        return true
    }
}
