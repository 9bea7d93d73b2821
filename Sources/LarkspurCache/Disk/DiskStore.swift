/// A store on disk, which several processes may share.
///
/// Each response is a file of its own (`DiskFormat`). A file is written under a temporary name and then renamed, so a
/// reader finds a complete entry or none. All work on a URL has the same file thread, so its order within the process
/// is the order of the calls.
package final class DiskStore: CacheStore {
    /// The times and sizes that tests change.
    package struct Settings: Sendable {
        /// The seconds for which a use of an entry is not noted again.
        package var touchInterval = 10.0
        /// The time after a failure during which nothing is stored.
        package var pause = Duration.seconds(10)
        /// The age in seconds from which a temporary file that no process has locked is a leftover.
        package var leftoverAge = 60.0
        /// The maximum number of bytes that wait to be written. A response with more is not stored.
        package var queueLimit: UInt64 = 32 << 20

        package init() {}
    }

    // Immutable
    let folder: DiskFolder
    let limit: UInt64
    let settings: Settings
    private let maximumEntrySize: UInt64

    // Mutable state, guarded by the lock of `Protected`
    let box = Protected(DiskState())
    /// The names that were used last, guarded by a lock of its own.
    private let names = Protected(DiskNames())

    package init(
        _ folder: URL, limit: UInt64, maximumEntrySize: UInt64 = .max, settings: Settings = Settings()
    ) {
        self.folder = DiskFolder(folder)
        self.limit = min(limit, 1 << 60)
        self.settings = settings
        // Sums of sizes must not overflow.
        self.maximumEntrySize = min(limit, maximumEntrySize, 1 << 60)
    }

    func perform(for url: String, _ work: @escaping @Sendable () -> Void) {
        FileThread.assigned(to: url).perform(work)
    }

    package func finish() async {
        for thread in FileThread.all { await withCheckedContinuation { done in thread.perform { done.resume() } } }
    }

    /// Returns the name of the entries of a URL in a partition.
    func name(of url: String, _ partition: [UInt8]) -> DiskName {
        if let name = names.withLock({ $0.find(url, partition) }) { return name }
        let name = DiskName(url: url, partition: partition)
        return names.withLock { names in
            names.add(name, url, partition)
            return name
        }
    }

    // MARK: Finding

    package func find(
        _ key: CacheKey, for fields: [HTTPHeader], _ done: @escaping @Sendable (StoredResponse?) -> Void
    ) {
        perform(for: key.url) { [self] in
            done(lookUp(key, fields))
            scanOnce()
        }
    }

    private func lookUp(_ key: CacheKey, _ fields: [HTTPHeader]) -> StoredResponse? {
        guard isUsable() else { return nil }
        let partition = DiskName.partitionHash(key.partition)
        let name = name(of: key.url, partition)
        var newest: StoredResponse?
        let variants = folder.variants(of: name)
        if variants == nil { names.withLock { $0.noteMissingVariants(of: name, key.url) } }
        for names in (variants ?? DiskVariants()).lists(for: fields) {
            let selection = Selection(names: names, in: fields)
            let hashed = DiskSelection(selection)
            guard let entry = load(name.entry(hashed)) else { continue }
            let record = entry.record
            guard record.url == key.url, record.partition == partition, record.selection == hashed else {
                remove(entry, of: key.url)
                continue
            }
            if let newest, newest.head.received >= record.received { continue }
            let head = record.stored(partition: key.partition, selection)
            guard head.isSelected(by: fields) else { continue }
            newest = StoredResponse(head: head, body: DiskBody(entry, url: key.url, store: self))
        }
        if let body = newest?.body as? DiskBody { touch(body.entry) }
        return newest
    }

    /// Opens an entry. A damaged or foreign file is removed.
    func load(_ path: String) -> DiskEntry? {
        switch folder.open(path) {
        case .missing: return nil
        case .foreign:
            folder.remove(path)
            return nil
        case .file(let file, let status):
            if var entry = DiskEntry(file, path, size: UInt64(clamping: status.st_size)) {
                entry.modified = status.modified
                return entry
            }
            remove(path, ifSameAs: status)
            return nil
        }
    }

    /// Notes the use of an entry, for the choice of those that are removed at the limit.
    private func touch(_ entry: DiskEntry) {
        guard abs(Date().timeIntervalSince1970 - entry.modified) >= settings.touchInterval else { return }
        futimens(entry.file.descriptor, nil)
    }

    /// Returns whether the folder can be used. Right after a failure it is not tried again.
    private func isUsable() -> Bool {
        if box.withLock({ $0.isClearing || $0.isWithoutFolder && $0.isPaused }) { return false }
        do throws(DiskFailure) {
            _ = try folder.root()
            box.withLock { $0.isWithoutFolder = false }
            return true
        } catch {
            failed(error, isOfFolder: true)
            box.withLock { $0.isWithoutFolder = true }
            return false
        }
    }

    // MARK: Storing

    package func begin(_ head: StoredHead, length: UInt64?) -> (any CacheWriter)? {
        // A server may declare any length.
        guard let size = Self.space(of: head), accepts(length ?? 0) else { return nil }
        let space = UInt64(size) + (length ?? 0)
        guard accepts(space), box.withLock({ !$0.isPaused }), reserve(space) else { return nil }
        return DiskWriter(
            head, overhead: UInt64(size), reserved: space, mark: box.withLock { $0.removals.last }, store: self)
    }

    /// Returns the most space that a head can take; nil if it is too large to store.
    private static func space(of head: StoredHead) -> Int? {
        let names = head.selection.names.reduce(0) { $0 + $1.utf8.count + 4 }
        let size = head.head.rawFields.count + head.url.utf8.count + 64 * head.selection.names.count + names + 256
        return size <= DiskFormat.maximumRecordSize && head.selection.isStorable ? size : nil
    }

    func accepts(_ size: UInt64) -> Bool { size <= maximumEntrySize }

    func reserve(_ count: UInt64) -> Bool {
        box.withLock { state in
            guard count <= limit, state.reserved <= limit - count else { return false }
            state.reserved += count
            return true
        }
    }

    func release(_ count: UInt64) { box.withLock { $0.reserved -= count } }

    /// Counts bytes that wait to be written. Returns whether more than half of the queue is in use; nil if there is no
    /// room for the bytes.
    func enqueue(_ count: Int) -> Bool? {
        box.withLock { state in
            guard state.queued + UInt64(count) <= settings.queueLimit else { return nil }
            state.queued += UInt64(count)
            return state.queued > settings.queueLimit / 2
        }
    }

    var isQueueHalfFull: Bool { box.withLock { $0.queued > settings.queueLimit / 2 } }

    func dequeue(_ count: Int) { box.withLock { $0.queued -= UInt64(count) } }

    func isCurrent(_ url: String, since mark: UInt64) -> Bool {
        box.withLock { $0.removals.isCurrent(url, since: mark) }
    }

    /// Gives a complete temporary file its name, unless its URL was removed since the mark was made. On its URL's file
    /// thread.
    func place(
        _ temporary: String, _ record: DiskRecord, size: UInt64, _ file: DiskFile, since mark: UInt64
    ) throws(DiskFailure) {
        let name = name(of: record.url, record.partition)
        let path = name.entry(record.selection)
        // The search before the request has usually looked for the names already. If another process has noted other
        // names since, it has kept those of this response among them, or the next search is a miss.
        let isNoted = names.withLock { $0.takeMissingVariants(of: name, record.url) } && record.selection.isAlwaysTried
        var hasVariants = isNoted
        if !isNoted { hasVariants = try folder.note(record.selection, of: name) }
        let old = folder.status(of: path)
        let space = (size + 4095) / 4096 * 4096
        try change(name.shard) { () throws(DiskFailure) in
            try folder.rename(temporary, to: path)
            return (old == nil ? 1 : 0, Int64(clamping: space) - Int64(clamping: old?.space ?? 0))
        }
        let isDue = box.withLock { state in
            (state.isFailing, state.wasRemoved, state.written) = (false, false, state.written + space)
            return state.bytes > limit || state.written > max(limit / 8, 1 << 20)
        }
        if old == nil, hasVariants, !record.selection.names.isEmpty { limitVariants(of: name, keeping: path) }
        // `removeAll` works on another thread, and may have run in between.
        if !isCurrent(record.url, since: mark), let status = file.status { remove(path, ifSameAs: status) }
        if isDue { scan() } else { scanOnce() }
    }

    /// Notes a failure. Nothing is stored for a while, and the next request reports the first failure of a row.
    ///
    /// - Parameter isOfFolder: Whether the folder itself cannot be used.
    func failed(_ failure: DiskFailure, isOfFolder: Bool = false) {
        if failure.isLocal { return }
        if failure.code == ENOENT {
            folder.forget()
            // Another process may have removed everything. The next response finds the folder as it is now.
            if !isOfFolder, box.withLock({ $0.wasRemoved.setOnce() }) { return }
        }
        box.withLock { state in
            state.pausedUntil = .now + settings.pause
            if state.isFailing.setOnce() { state.problem = failure.message }
        }
    }

    package func takeProblem() -> String? { box.withLock { $0.problem.take() } }

    // MARK: Updating

    package func update(_ stored: StoredResponse, to head: StoredHead) {
        guard let body = stored.body as? DiskBody else { return }
        let mark = box.withLock { $0.removals.last }
        perform(for: body.url) { [self] in
            let entry = body.entry
            guard Self.space(of: head) != nil else { return remove(entry, of: body.url) }
            let record = DiskRecord(head, partition: entry.record.partition, count: entry.record.count)
            guard let file = folder.openToAppend(entry.path, ifSameAs: entry.file) else { return }
            let bytes = DiskFormat.sealed(record.bytes, entry.id)
            guard bytes.count <= DiskFormat.maximumRecordSize else { return remove(entry, of: body.url) }
            var isAppended = false
            change(String(entry.path.prefix(2))) {
                isAppended = file.append(bytes)
                return (0, isAppended ? Int64(bytes.count) : 0)
            }
            guard isAppended else {
                failed(DiskFailure("written"))
                // A part of a record makes the entry unreadable.
                return remove(entry, of: body.url)
            }
            let name = name(of: record.url, record.partition)
            let path = name.entry(record.selection)
            if path != entry.path {
                _ = try? folder.note(record.selection, of: name)
                let replaced = folder.status(of: path)
                try? change(name.shard) { () throws(DiskFailure) in
                    try folder.rename(entry.path, to: path)
                    return (replaced == nil ? 0 : -1, -Int64(clamping: replaced?.space ?? 0))
                }
            }
            guard let size = file.status?.st_size else { return }
            compact(entry, record, path, size: UInt64(clamping: size), since: mark)
        }
    }

    /// Writes an entry again, without its old records, if they take much of its space.
    private func compact(_ entry: DiskEntry, _ record: DiskRecord, _ path: String, size: UInt64, since mark: UInt64) {
        guard size > entry.end, size - entry.end > max(64 << 10, entry.end / 4) else { return }
        do throws(DiskFailure) {
            let (file, temporary) = try folder.create(in: String(path.prefix(2)))
            do throws(DiskFailure) {
                var position: UInt64 = 0
                while position < entry.end {
                    let count = Int(min(UInt64(DiskFormat.blockSize), entry.end - position))
                    guard let bytes = entry.file.read(at: position, count) else { throw DiskFailure("read") }
                    try file.write(bytes, at: position)
                    position += UInt64(count)
                }
                let bytes = DiskFormat.sealed(record.bytes, entry.id)
                try file.write(bytes, at: position)
                // Another process may have stored a newer response in between.
                guard let own = entry.file.status, folder.status(of: path)?.isSame(as: own) == true else {
                    folder.remove(temporary)
                    return
                }
                try place(temporary, record, size: position + UInt64(bytes.count), file, since: mark)
            } catch {
                folder.remove(temporary)
                throw error
            }
        } catch {
            failed(error)
        }
    }

    // MARK: Removing

    package func remove(_ stored: StoredResponse) {
        guard let body = stored.body as? DiskBody else { return }
        // On a file thread it is removed at once, so that a search that waits does not find it.
        remove(body.entry, of: body.url)
    }

    /// Removes an entry, unless another one has taken its place.
    func remove(_ entry: DiskEntry, of url: String) {
        guard FileThread.isCurrent else { return perform(for: url) { [self] in remove(entry, of: url) } }
        if let status = entry.file.status { remove(entry.path, ifSameAs: status) }
    }

    @discardableResult
    func remove(_ path: String, ifSameAs own: stat) -> Bool {
        guard let status = folder.status(of: path), status.isSame(as: own) else { return false }
        var isRemoved = false
        change(String(path.prefix(2))) {
            isRemoved = folder.remove(path)
            return isRemoved ? (-1, -Int64(clamping: status.space)) : (0, 0)
        }
        return isRemoved
    }

    package func remove(url: String) {
        box.withLock { $0.removals.add(url) }
        perform(for: url) { [self] in
            let (shard, prefix) = DiskName.prefix(ofURL: url)
            for name in folder.names(in: shard, beginningWith: prefix) {
                let path = "\(shard)/\(name)"
                switch DiskName.kind(of: name) {
                case .entry: if let status = folder.status(of: path) { remove(path, ifSameAs: status) }
                case .variants: folder.remove(path)
                case .temporary, .foreign: break
                }
            }
        }
    }

    package func removeAll() {
        box.withLock { state in
            state.removals.addAll()
            state.clearings += 1
            (state.entries, state.bytes) = (0, 0)
        }
        FileThread.all[0].perform { [self] in
            folder.detachAll()
            box.withLock { state in
                state.clearings -= 1
                (state.entries, state.bytes, state.scan) = (0, 0, state.scan.map { _ in DiskScan() })
            }
            for removed in folder.removedFolders {
                FileThread.assigned().perform { [self] in folder.removeFolder(removed) }
            }
        }
    }

    package var usage: (entries: Int, bytes: UInt64, evicted: Int) {
        scanOnce()
        return box.withLock { ($0.entries, $0.bytes, $0.evicted) }
    }
}

/// The mutable state of a store on disk.
struct DiskState {
    var removals = RemovalLog()
    /// The known number of entries and their space, from the last scan and the changes since.
    var entries = 0
    var bytes: UInt64 = 0
    var evicted = 0
    /// The space of the entries that were written since the last scan.
    var written: UInt64 = 0
    /// The bytes of responses that are being received.
    var reserved: UInt64 = 0
    /// The bytes that wait to be written.
    var queued: UInt64 = 0

    /// The number of calls of `removeAll` that are not done. Meanwhile nothing is found.
    var clearings = 0
    var isClearing: Bool { clearings > 0 }

    // Failures
    var isFailing = false
    /// Whether a file or the folder was missing since the last success.
    var wasRemoved = false
    var isWithoutFolder = false
    /// The first failure of a row, until a request has reported it.
    var problem: String?
    var pausedUntil: ContinuousClock.Instant?
    var isPaused: Bool { pausedUntil.map { $0 > .now } ?? false }

    // The scan
    var isScanned = false
    /// The running scan.
    var scan: DiskScan?
    var changes = DiskChanges()
    var waiters: [@Sendable () -> Void] = []
}
