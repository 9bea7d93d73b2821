import Larkspur
internal import LarkspurAnnex

/// The identity of an image in a cache: the URL and the bounds of the thumbnail.
public struct ImageKey: Sendable, Hashable {
    /// The URL.
    public let url: RequestURL
    /// The bounds of the thumbnail; nil for the image in its own size.
    public let thumbnail: PixelSize?
    /// The identifier of the ``ImageSource``; empty for a URL without one.
    public let identifier: String

    /// Creates a key.
    public init(url: RequestURL, thumbnail: PixelSize? = nil, identifier: String = "") {
        self.url = url
        self.thumbnail = thumbnail
        self.identifier = identifier
    }

    /// Returns the key of another thumbnail of the same image; nil stands for the image in its own size.
    func with(_ thumbnail: PixelSize?) -> ImageKey {
        ImageKey(url: url, thumbnail: thumbnail, identifier: identifier)
    }
}

/// A cache of decoded images.
///
/// The loader calls a cache on the thread of its caller, often the main thread.
public protocol ImageCaching: Sendable {
    /// Returns the image with the key.
    func image(for key: ImageKey) -> DecodedImage?
    /// Stores an image, in place of an earlier one with the same key.
    func insert(_ image: DecodedImage, for key: ImageKey)
    /// Removes the image with the key.
    func removeImage(for key: ImageKey)
    /// Removes the image of a URL in its own size, and its thumbnails.
    func removeImages(of url: RequestURL)
    /// Removes all images.
    func removeAll()
}

/// A cache of decoded images in memory. It removes the images that were not used for the longest time, first.
///
/// When the images exceed ``capacity``, the cache removes images until at most ``preferredSize`` remains, or the new
/// image alone. Under memory pressure the cache removes all images. All operations take constant time, apart from
/// removals.
public final class AutoPurgingImageCache: ImageCaching, CustomStringConvertible {
    /// Numbers about the use of a cache.
    public struct Statistics: Sendable, Hashable {
        /// The number of images found.
        public var hits = 0
        /// The number of images not found.
        public var misses = 0
        /// The number of images that were removed to free memory.
        public var purged = 0
    }

    /// The maximum number of bytes of all pixels.
    public let capacity: Int
    /// The maximum number of bytes after images were removed.
    public let preferredSize: Int
    private let box: Guarded<LeastRecentlyUsed>
    private let pressure: MemoryPressure.Subscription?

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes of all pixels; 100 MB by default.
    ///   - preferredSize: The maximum number of bytes after images were removed; 60 MB by default.
    ///   - pressure: The source of reports about memory pressure; nil for none.
    public init(
        capacity: Int = 100_000_000, preferredSize: Int = 60_000_000, pressure: MemoryPressure? = .system
    ) {
        self.capacity = max(0, capacity)
        self.preferredSize = max(0, min(preferredSize, capacity))
        let box = Guarded(LeastRecentlyUsed())
        self.box = box
        self.pressure = pressure?.subscribe { _ = box.withLock { $0.removeAll() } }
    }

    public func image(for key: ImageKey) -> DecodedImage? { box.withLock { $0.use(key) } }

    /// Stores an image, in place of an earlier one with the same key. An image larger than the whole cache is not
    /// stored.
    public func insert(_ image: DecodedImage, for key: ImageKey) {
        guard image.cost <= capacity else { return removeImage(for: key) }
        // The removed images are released after unlocking.
        _ = box.withLock { state -> [DecodedImage] in
            var removed = [state.insert(image, for: key)].compactMap(\.self)
            if state.cost > capacity { removed += state.purge(to: max(preferredSize, image.cost)) }
            return removed
        }
    }

    public func removeImage(for key: ImageKey) { _ = box.withLock { $0.remove(key) } }

    public func removeImages(of url: RequestURL) {
        _ = box.withLock { state in state.keys.filter { $0.url == url }.map { state.remove($0) } }
    }

    public func removeAll() { _ = box.withLock { $0.removeAll(isPurge: false) } }

    /// The number of bytes of all pixels.
    public var cost: Int { box.withLock { $0.cost } }
    /// The number of images.
    public var count: Int { box.withLock { $0.count } }
    /// Numbers about the use of this cache.
    public var statistics: Statistics { box.withLock { $0.statistics } }
    /// The number of images and bytes, and the use of the cache.
    public var description: String {
        let (count, cost, numbers) = box.withLock { ($0.count, $0.cost, $0.statistics) }
        return "\(count) images, \(cost) of \(capacity) bytes, \(numbers.hits) hits, \(numbers.misses) misses, "
            + "\(numbers.purged) purged"
    }
}
