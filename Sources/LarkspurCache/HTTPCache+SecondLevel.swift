public import Foundation

extension HTTPCache {
    /// Creates a cache in memory over a second level that several processes share.
    ///
    /// A response that is not in memory is looked for in the second level, and one process at a time asks the server
    /// for it. The second level holds complete responses of a limited size. If it fails, or is slow, requests go on
    /// without it: one of them reports ``CacheOutcome/unavailable(because:)``, and ``Statistics/sharedFailures`` counts
    /// the failures.
    ///
    /// `remove(_:)` and `removeAll()` also concern the second level, but not the memory of other processes.
    /// ``entries`` and ``remove(matching:)`` concern the memory alone.
    ///
    /// Call ``finishStoring()`` before the process ends: other processes may wait for its last responses.
    ///
    /// - Parameters:
    ///   - level: The second level, such as the `SharedResponses` of LarkspurFleet.
    ///   - limit: The maximum size of all entries in memory, in bytes.
    ///   - options: The settings.
    public convenience init(
        shared level: any SharedCacheLevel, limit: UInt64 = 64 << 20, options: Options = Options()
    ) {
        self.init(
            MemoryStore(limit: limit, maximumEntrySize: options.maximumEntrySize), options: options, level: level)
    }

    /// Creates a cache in files over a second level that several processes share.
    ///
    /// - Parameters:
    ///   - level: The second level, as in ``init(shared:limit:options:)``.
    ///   - folder: The folder, as in ``onDisk(at:limit:options:)``.
    ///   - limit: The maximum size of all entries in the folder, in bytes.
    ///   - options: The settings.
    public convenience init(
        shared level: any SharedCacheLevel, onDisk folder: URL, limit: UInt64 = 200 << 20, options: Options = Options()
    ) {
        self.init(
            DiskStore(folder, limit: limit, maximumEntrySize: options.maximumEntrySize), options: options, level: level)
    }
}
