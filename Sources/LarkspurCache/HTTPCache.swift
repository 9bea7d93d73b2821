/// A private HTTP cache by RFC 9111, for one or several sessions.
///
///     let session = Session(configuration: SessionConfiguration { $0.cache = .inMemory(limit: 64 << 20) })
///
/// A session with a cache answers requests from it as the responses' `Cache-Control` allows. `DataResponse.cache` tells
/// what the cache did for a request.
///
/// A response is served only to requests that would get the same response from the server: with the same
/// credentials, the same client identity and the same evaluator of the server's certificates. A response is also served
/// only to requests with the same cookies, unless it is `public`.
public final class HTTPCache: Sendable {
    /// The settings of a cache.
    public struct Options: Sendable, Hashable {
        /// The time after its expiry for which a response may be served if the server cannot be reached or fails, and
        /// the response itself does not say so (`stale-if-error`); nil by default.
        public var staleIfError: Duration?
        /// The time after its expiry for which a response is served at once while it is validated in the background, if
        /// the response itself does not say so (`stale-while-revalidate`); nil by default.
        public var staleWhileRevalidate: Duration?
        /// The lifetime of a response without an explicit one, as a fraction of the time since it was last modified;
        /// 0.1 by default.
        public var heuristicFraction = 0.1
        /// The maximum size of one entry in bytes; by default the limit of the cache.
        public var maximumEntrySize = UInt64.max
        /// Whether the cache serves several users, as that of a proxy does; false by default. A shared cache stores no
        /// `private` response, and one to a request with `Authorization` only if the response allows it.
        public var isShared = false
        /// Whether equal GETs at the same time share one request to the server; true by default. Requests that join one
        /// in flight wait for its head before they can send their own, if the response turns out to be for that request
        /// alone.
        public var coalescesMisses = true

        /// Creates the default options and passes them to the closure for changes.
        public init(_ configure: (inout Options) -> Void = { _ in }) { configure(&self) }
    }

    /// The work of a cache since it was created.
    public struct Statistics: Sendable, Hashable {
        /// The number of responses that came from the cache without a request.
        public internal(set) var hits = 0
        /// The number of responses that came from the server.
        public internal(set) var misses = 0
        /// The number of responses that were served after the server had confirmed them.
        public internal(set) var revalidations = 0
        /// The number of stale responses that were served.
        public internal(set) var staleHits = 0
        /// The number of requests for which the cache was not used.
        public internal(set) var bypasses = 0
        /// The number of entries that were removed to keep the limits of size and of variants.
        public internal(set) var evictions = 0
        /// The number of entries.
        public internal(set) var entryCount = 0
        /// The size of all entries in bytes.
        public internal(set) var size: UInt64 = 0
        /// The number of responses that came from the second level (``HTTPCache/init(shared:limit:options:)``).
        public internal(set) var sharedHits = 0
        /// The number of operations of the second level that failed.
        public internal(set) var sharedFailures = 0
    }

    /// A stored response, for display.
    public struct Entry: Sendable {
        /// The URL, without its fragment.
        public let url: RequestURL
        /// The head of the response.
        public let head: ResponseHead
        /// The size of the body in bytes.
        public let size: UInt64
        /// The time at which the response was received or validated.
        public let received: Date
        /// The time until which the response is served without asking the server.
        public let expires: Date
        /// The names of the request's fields by which the response was selected.
        public let varyingFields: [String]
    }

    /// The settings of the cache.
    public let options: Options
    package let rules: CacheRules
    package let store: any CacheStore
    let second: SecondLevel?
    /// The current time in seconds since 1970.
    let now: @Sendable () -> Double
    private let box = Protected(State())

    private struct State {
        var statistics = Statistics()
        var removals = RemovalLog()
        /// The responses that are being validated in the background.
        var refreshed: Set<String> = []
    }

    package init(
        _ store: any CacheStore, options: Options = Options(), level: (any SharedCacheLevel)? = nil,
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 },
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.store = store
        self.options = options
        self.now = now
        let rules = CacheRules(options)
        self.rules = rules
        second = level.map { SecondLevel($0, rules, now: now, clock: clock) }
    }

    /// Creates a cache in memory.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of all entries in bytes. If it is reached, the entries that were not used for the
    ///     longest time are removed.
    ///   - options: The settings.
    public static func inMemory(limit: UInt64 = 64 << 20, options: Options = Options()) -> HTTPCache {
        HTTPCache(MemoryStore(limit: limit, maximumEntrySize: options.maximumEntrySize), options: options)
    }

    /// Creates a cache in files, which outlive the process. Several processes may use the same folder at once.
    ///
    ///     configuration.cache = .onDisk(at: folder, limit: 200 << 20)
    ///
    /// The cache uses a subfolder of its own, which only the user of the process may enter. Nothing is read before the
    /// first request. If the folder cannot be used, or the disk is full, requests go to the server, and one of them
    /// reports the outcome ``CacheOutcome/unavailable(because:)``.
    ///
    /// - Parameters:
    ///   - folder: The folder, which is created if it is missing.
    ///   - limit: The maximum size of all entries in bytes. If it is exceeded, the entries that were not used for the
    ///     longest time are removed in the background.
    ///   - options: The settings.
    public static func onDisk(at folder: URL, limit: UInt64 = 200 << 20, options: Options = Options()) -> HTTPCache {
        HTTPCache(DiskStore(folder, limit: limit, maximumEntrySize: options.maximumEntrySize), options: options)
    }

    /// The numbers of hits, misses and stored responses so far.
    public var statistics: Statistics {
        var statistics = box.withLock { $0.statistics }
        let usage = store.usage
        (statistics.entryCount, statistics.size, statistics.evictions) = (usage.entries, usage.bytes, usage.evicted)
        if let counts = second?.counts { (statistics.sharedHits, statistics.sharedFailures) = counts }
        return statistics
    }

    /// The entries, in no order. They are read as you iterate, so a slow loop keeps few of them in memory.
    ///
    ///     for try await entry in cache.entries { print(entry.url, entry.size) }
    public var entries: AsyncThrowingStream<Entry, any Error> {
        let listing = store.list()
        let waiting = Protected<ArraySlice<Entry>>([])
        return AsyncThrowingStream { [self] in
            while true {
                if let entry = waiting.withLock({ $0.popFirst() }) { return entry }
                guard let next = await listing.next() else { return nil }
                waiting.withLock { $0 += next.compactMap { entry($0.head, $0.size) } }
            }
        }
    }

    /// Removes all entries of a URL. Responses to requests that are in flight are not stored either.
    public func remove(_ url: RequestURL) {
        let url = CacheKey.url(of: url)
        box.withLock { $0.removals.add(url) }
        store.remove(url: url)
        second?.remove(url)
    }

    /// Removes the entries for which the closure returns true.
    public func remove(matching isRemoved: @escaping @Sendable (Entry) -> Bool) async throws {
        try await store.filter { head, size in self.entry(head, size).map { !isRemoved($0) } ?? false }
    }

    /// Removes all entries. Responses to requests that are in flight are not stored either.
    public func removeAll() {
        box.withLock { $0.removals.addAll() }
        store.removeAll()
        second?.remove(nil)
    }

    /// Waits until all responses that requests have received are stored, on disk and in the second level.
    ///
    /// Removals that the second level has not taken yet are tried once more, and two seconds later if that fails.
    ///
    /// Requests do not wait for the cache. Call this function at the end of a process that other ones share the cache
    /// with, and before a program with a cache on disk ends:
    ///
    ///     let value = try await session.request(url).serializingJSON().value
    ///     await cache.finishStoring()
    public func finishStoring() async {
        await store.finish()
        await second?.finish()
    }

    private func entry(_ head: StoredHead, _ size: UInt64) -> Entry? {
        guard let url = try? RequestURL(verbatim: head.url) else { return nil }
        let left = rules.lifetime(of: head) - head.initialAge
        return Entry(
            url: url, head: head.head, size: size, received: Date(timeIntervalSince1970: head.received),
            expires: Date(timeIntervalSince1970: head.received + left), varyingFields: head.selection.names)
    }

    // MARK: For the engine

    func count(_ outcome: CacheOutcome) {
        box.withLock { state in
            switch outcome {
            case .hit: state.statistics.hits += 1
            case .miss, .unavailable: state.statistics.misses += 1
            case .revalidated: state.statistics.revalidations += 1
            case .stale: state.statistics.staleHits += 1
            case .bypassed: state.statistics.bypasses += 1
            }
        }
    }

    /// Returns the reason why a level of the cache cannot be used. Each failure is returned once.
    func takeProblem() -> String? { store.takeProblem() ?? second?.takeProblem() }

    /// Returns whether the response is fresh.
    func isFresh(_ stored: StoredResponse, at now: Double) -> Bool {
        now >= stored.head.received - 1 && stored.head.age(at: now) < rules.lifetime(of: stored.head)
    }

    /// Returns a mark of the present time, for `isCurrent(_:since:)`.
    var mark: UInt64 { box.withLock { $0.removals.last } }

    /// Returns whether no response of the URL was removed since the mark was made. If one was, a request that was sent
    /// before may bring the old response.
    func isCurrent(_ url: String, since mark: UInt64) -> Bool {
        box.withLock { $0.removals.isCurrent(url, since: mark) }
    }

    /// Returns whether this caller validates the response in the background. False if another one does already.
    func beginsRefresh(_ key: String) -> Bool { box.withLock { $0.refreshed.insert(key).inserted } }

    func endRefresh(_ key: String) { box.withLock { _ = $0.refreshed.remove(key) } }
}

extension CacheRules {
    package init(_ options: HTTPCache.Options) {
        isShared = options.isShared
        heuristicFraction = options.heuristicFraction
        staleWhileRevalidate = options.staleWhileRevalidate.map { $0 / .seconds(1) }
        staleIfError = options.staleIfError.map { $0 / .seconds(1) }
    }
}

extension HTTPCache: CustomStringConvertible, CustomReflectable {
    public var description: String {
        let statistics = statistics
        return "HTTPCache(\(statistics.entryCount) entries, \(statistics.size) bytes)"
    }
    /// An empty mirror, because stored responses may hold secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
