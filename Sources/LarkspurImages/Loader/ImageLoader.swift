import Dispatch
import Larkspur
internal import LarkspurAnnex

/// A loader of images over a session, with a cache of decoded images in memory.
///
///     let loader = ImageLoader(session: session)
///     let photo = try await loader.load("https://example.org/photo.jpg", thumbnail: PixelSize(width: 200, height: 200)).image
///
/// Equal URLs share one request and, for equal thumbnails, one decoding, however many callers want the image. Retries,
/// authentication and the HTTP cache on disk are those of the session: give its configuration a `cache` so that images
/// survive the process and are revalidated. A response outside of 200..<300 is a failure.
public final class ImageLoader: Sendable {
    /// The order of requests with equal priority.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Order: Sendable, Hashable {
        /// The request that was made first starts first.
        case firstInFirstOut
        /// The request that was made last starts first, which suits lists that scroll.
        case lastInFirstOut
    }

    /// The settings of a loader.
    public struct Options: Sendable {
        /// The maximum number of images that are loaded or decoded at the same time; 4 by default. Prefetches use one
        /// place less, so that they never hold up an image that is shown. As many previews are decoded besides.
        public var maximumActive = 4
        /// The order of requests with equal priority; first in, first out by default.
        public var order = Order.firstInFirstOut
        /// The maximum number of bytes of a file; 64 MiB by default. A larger one fails with `.contentTooLarge`.
        public var maximumFileSize: UInt64 = 64 << 20
        /// The header fields of each request. By default, `Accept` prefers images.
        public var headers: HTTPHeaders = ["Accept": "image/*,*/*;q=0.8"]
        /// Changes each request before it starts, for example its cache policy or its retrier.
        public var configure: @Sendable (DataRequest) -> Void = { _ in }

        /// Creates the default options and passes them to the closure for changes.
        public init(_ configure: (inout Options) -> Void = { _ in }) { configure(&self) }
    }

    /// Numbers about the work of a loader.
    public struct Statistics: Sendable, Hashable {
        /// The number of images that callers asked for, without prefetches.
        public var requested = 0
        /// The number of images that were in the memory cache.
        public var memoryHits = 0
        /// The number of requests to the session.
        public var exchanges = 0
        /// The number of responses that the HTTP cache of the session stored earlier, including revalidated ones.
        public var diskHits = 0
        /// The number of decodings, without those of previews.
        public var decodings = 0
        /// The number of decodings of previews.
        public var previews = 0
    }

    /// The loader of views that name no other; set it when the application starts.
    ///
    /// By default it has an HTTP cache of at most 150 MB on disk, in the folder `org.larkspur.images` of the user's
    /// caches. Without a network, images that were shown within 30 days come from there.
    public static var shared: ImageLoader {
        get { chosen.withLock { $0 } ?? standard }
        set { _ = chosen.withLock { exchange(&$0, newValue) } }
    }

    private static let chosen = Guarded<ImageLoader?>(nil)
    private static let standard = ImageLoader(
        session: Session(
            configuration: SessionConfiguration { configuration in
                let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
                configuration.cache = caches.map {
                    .onDisk(
                        at: $0.appendingPathComponent("org.larkspur.images"), limit: 150 << 20,
                        options: HTTPCache.Options { $0.staleIfError = .seconds(30 * 86_400) })
                }
            }))

    /// Replaces a value, and returns the earlier one, which is then released outside of the lock.
    private static func exchange<Value>(_ place: inout Value, _ new: Value) -> Value {
        defer { place = new }
        return place
    }

    /// The cache of decoded images; nil for none.
    public let cache: (any ImageCaching)?
    private let session: Session
    private let decoder: any ImageDecoding
    private let options: Options
    private let box: Guarded<Content>
    private let queue = DispatchQueue(label: "org.larkspur.images", attributes: .concurrent)

    private struct Content {
        var state: LoaderState
        var tasks: [LoaderState.JobID: Task<Void, Never>] = [:]
        var statistics = Statistics()
        /// The number of images that jobs have put into the cache.
        var inserted = 0
        /// The number of previews that are decoded at this time. One can go on after its job was cancelled.
        var activePreviews = 0
    }

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - session: The session of the requests. The loader retains it.
    ///   - cache: The cache of decoded images; a new ``AutoPurgingImageCache`` by default, nil for none.
    ///   - decoder: The decoder; that of the system by default.
    ///   - options: The settings.
    public init(
        session: Session = Session(), cache: (any ImageCaching)? = AutoPurgingImageCache(),
        decoder: any ImageDecoding = .system, options: Options = Options()
    ) {
        self.session = session
        self.cache = cache
        self.decoder = decoder
        self.options = options
        box = Guarded(Content(state: LoaderState(order: options.order, maximumActive: options.maximumActive)))
    }

    /// Loads an image. Await ``ImageReceipt/image`` of the result.
    ///
    /// - Parameters:
    ///   - url: The URL, absolute or relative to the base URL of the session. An invalid one fails the receipt. An
    ///     ``ImageSource`` is a URL with header fields and more.
    ///   - thumbnail: The bounds of a thumbnail in pixels; nil for the image in its own size. Bounds without a pixel
    ///     fail the receipt.
    ///   - priority: Images of higher priority start first, without regard to how long others wait. A higher priority
    ///     of a later caller raises a waiting request.
    ///   - previews: Whether ``ImageReceipt/previews`` shows the image while its file arrives; false by default. Such a
    ///     load keeps a second copy of the bytes that have arrived, and a third while a preview is decoded, one at a
    ///     time. A load that joins a request without previews has none.
    @discardableResult
    public func load(
        _ url: any URLConvertible, thumbnail: PixelSize? = nil, priority: RequestPriority = .normal,
        previews: Bool = false
    ) -> ImageReceipt {
        start(url, thumbnail, priority, isRequested: true, previews)
    }

    /// Loads images into the cache with the lowest priority.
    ///
    /// - Returns: The receipts, to cancel images that are no longer needed.
    @discardableResult
    public func prefetch(_ urls: [any URLConvertible], thumbnail: PixelSize? = nil) -> [ImageReceipt] {
        urls.map { start($0, thumbnail, .background, isRequested: false) }
    }

    /// Returns the identity of an image of this loader.
    ///
    /// - Throws: `RequestError` with the code `.invalidURL`.
    public func key(for url: any URLConvertible, thumbnail: PixelSize? = nil) throws(RequestError) -> ImageKey {
        ImageKey(
            url: try session.absoluteURL(of: url), thumbnail: thumbnail,
            identifier: (url as? ImageSource)?.identifier ?? "")
    }

    /// Removes an image from the cache of decoded images: in its own size and as thumbnails, with all identifiers. The
    /// next load requests it from the session.
    ///
    /// - Throws: `RequestError` with the code `.invalidURL`.
    public func removeImages(of url: any URLConvertible) throws(RequestError) {
        cache?.removeImages(of: try session.absoluteURL(of: url))
    }

    /// Numbers about the work of this loader.
    public var statistics: Statistics { box.withLock { $0.statistics } }
    /// The number of images that are loaded or decoded at this time.
    public var activeCount: Int { box.withLock { $0.state.active } }
    /// The number of images that wait for their turn.
    public var waitingCount: Int { box.withLock { $0.state.waiting } }

    /// The number of previews that are decoded at this time.
    var activePreviews: Int { box.withLock { $0.activePreviews } }

    private func start(
        _ target: any URLConvertible, _ thumbnail: PixelSize?, _ priority: RequestPriority, isRequested: Bool,
        _ previews: Bool = false
    ) -> ImageReceipt {
        let key: ImageKey
        do {
            try thumbnail?.checkBounds()
            key = try self.key(for: target, thumbnail: thumbnail)
        } catch {
            return ImageReceipt(nil, priority: priority, ended: .failure(error))
        }
        let inserted = box.withLock { $0.inserted }
        let stored = cache?.image(for: key)
        if isRequested {
            box.withLock {
                $0.statistics.requested += 1
                if stored != nil { $0.statistics.memoryHits += 1 }
            }
        }
        if let stored { return ImageReceipt(key, priority: priority, ended: .success(stored)) }
        let receipt = ImageReceipt(key, priority: priority, wantsPreviews: previews) { [weak self] in self?.leave($0) }
        let source = target as? ImageSource ?? ImageSource(key.url)
        run(box.withLock { $0.state.join(receipt, source, missedAt: inserted) })
        return receipt
    }

    private func leave(_ receipt: ImageReceipt) {
        let task = box.withLock { content in
            content.state.leave(receipt).flatMap { content.tasks[$0] }
        }
        task?.cancel()
    }

    private func run(_ jobs: [LoaderState.JobID]) {
        for id in jobs {
            // A job belongs to all its receipts, so it is part of no caller's task.
            let task = Task.detached { await self.perform(id) }
            let isOver = box.withLock { content -> Bool in
                content.tasks[id] = content.state.isKnown(id) ? task : nil
                return content.tasks[id] == nil
            }
            if isOver { task.cancel() }
        }
    }

    private func perform(_ id: LoaderState.JobID) async {
        var failure: RequestError?
        do { try await work(on: id) } catch { failure = error }
        let (receipts, starts) = box.withLock { content in
            content.tasks[id] = nil
            return content.state.end(id)
        }
        // Without a failure, each variant was delivered.
        if let failure { for receipt in receipts { receipt.end(.failure(failure)) } }
        run(starts)
    }

    private func work(on id: LoaderState.JobID) async throws(RequestError) {
        guard let (key, source) = box.withLock({ $0.state.image(of: id) }) else { return }
        // An earlier job of the same URL may have ended after the caller looked into the cache.
        for variant in box.withLock({ $0.state.variants(of: id, missedBefore: $0.inserted) }) {
            guard let image = cache?.image(for: key.with(variant)) else { continue }
            deliver(.success(image), as: variant, of: id)
        }
        guard box.withLock({ $0.state.nextVariant(of: id) != nil }) else { return }
        let (data, isStorable) = try await fetch(key.url, source, of: id)
        var decoded: Set<LoaderState.Variant> = []
        // A cancelled job has no variants.
        while let variant = box.withLock({ $0.state.nextVariant(of: id) }) {
            let key = key.with(variant)
            // A caller can miss an image in the cache, and join after it was delivered to others.
            if let image = decoded.contains(variant) ? cache?.image(for: key) : nil {
                deliver(.success(image), as: variant, of: id)
            } else {
                let result = await decode(data, key)
                if isStorable, let cache, case .success(let image) = result {
                    cache.insert(image, for: key)
                    box.withLock { $0.inserted += 1 }
                }
                decoded.insert(variant)
                deliver(result, as: variant, of: id)
            }
        }
    }

    private func deliver(_ result: Result<DecodedImage, RequestError>, as variant: PixelSize?, of id: LoaderState.JobID)
    {
        let receipts = box.withLock { $0.state.take(variant, of: id) }
        for receipt in receipts { receipt.end(result) }
    }

    /// Returns the file, and whether its images may be stored.
    private func fetch(
        _ url: RequestURL, _ source: ImageSource, of id: LoaderState.JobID
    ) async throws(RequestError) -> (data: Data, isStorable: Bool) {
        let (priority, hasPreviews) = box.withLock { content in
            content.statistics.exchanges += 1
            return (content.state.priority(of: id), !content.state.previewVariants(of: id).isEmpty)
        }
        let limit = options.maximumFileSize
        var headers = options.headers
        for header in source.headers { headers.update(header) }
        let request = await session.request(url, headers: headers, startsAutomatically: true) {
            $0.options.maximumBodySize = min($0.options.maximumBodySize ?? limit, limit)
        }
        options.configure(request.validate().priority(priority))
        source.configure(request)
        let previews = hasPreviews ? monitor(of: id) : nil
        defer { previews?.stop() }
        if let previews { request.eventMonitor(previews) }
        // Handlers that `configure` has attached would keep the request alive after the last receipt has left.
        let response = await withTaskCancellationHandler {
            await request.serializingData().response
        } onCancel: {
            request.cancel()
        }
        switch response.cache {
        case .hit?, .revalidated?, .stale?: box.withLock { $0.statistics.diskHits += 1 }
        default: break
        }
        let control = response.head?["Cache-Control"] ?? ""
        let isStorable = !control.lowercased().split(whereSeparator: { ", \t".contains($0) }).contains("no-store")
        return (try response.result.get(), isStorable)
    }

    private func monitor(of id: LoaderState.JobID) -> PreviewMonitor {
        let limit = Int(clamping: options.maximumFileSize)
        return PreviewMonitor(bodyLimit: limit, on: queue) { [weak self] in self?.showPreviews($0, of: id) ?? false }
    }

    /// Decodes previews from the first bytes of a file, for the receipts that want them. Returns whether further
    /// previews are possible.
    private func showPreviews(_ data: Data, of id: LoaderState.JobID) -> Bool {
        let isFree = box.withLock { content in
            guard content.activePreviews < max(1, options.maximumActive) else { return false }
            content.activePreviews += 1
            return true
        }
        guard isFree else { return true }
        defer { box.withLock { $0.activePreviews -= 1 } }
        for variant in box.withLock({ $0.state.previewVariants(of: id) }) {
            // The receipts may have left while the variant before was decoded.
            guard box.withLock({ !$0.state.previewReceipts(for: variant, of: id).isEmpty }) else { continue }
            box.withLock { $0.statistics.previews += 1 }
            do {
                guard let preview = try decoder.decodePreview(data, thumbnail: variant) else { continue }
                let receipts = box.withLock { $0.state.previewReceipts(for: variant, of: id) }
                for receipt in receipts { receipt.show(preview) }
            } catch {
                return false
            }
        }
        return true
    }

    /// Decodes on a thread that may block, so that decodings do not hold up the tasks of the process.
    private func decode(_ data: Data, _ key: ImageKey) async -> Result<DecodedImage, RequestError> {
        box.withLock { $0.statistics.decodings += 1 }
        return await withCheckedContinuation { continuation in
            queue.async { [decoder] in
                let result = Result { try decoder.decode(data, thumbnail: key.thumbnail) }
                continuation.resume(
                    returning: result.mapError { error in
                        error as? RequestError
                            ?? RequestError(.invalidImage, "the decoder failed: \(error)", underlying: error)
                    })
            }
        }
    }
}
