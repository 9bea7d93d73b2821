/// A pass over the folder, which counts the entries and finds those that were not used for the longest time.
struct DiskScan {
    struct Candidate {
        let path: String
        let modified: Double
        let space: UInt64
    }

    /// The maximum number of candidates. If all of them are removed and the limit is still exceeded, the scan repeats.
    static let candidateLimit = 4096

    /// The number of subfolders that were scanned.
    var position = 0
    var entries = 0
    var bytes: UInt64 = 0
    var candidates: [Candidate] = []

    /// Adds the entries of a subfolder. Keeps only the oldest ones of all.
    mutating func add(_ found: [Candidate]) {
        entries += found.count
        bytes += found.reduce(0) { $0 + $1.space }
        candidates += found
        if candidates.count > 2 * Self.candidateLimit { trim() }
    }

    mutating func trim() {
        candidates.sort { $0.modified < $1.modified }
        candidates.removeLast(max(0, candidates.count - Self.candidateLimit))
    }
}

/// The changes of entries by subfolder. They tell a scan whether the entries of a subfolder changed while it read them.
struct DiskChanges {
    private var running: [String: Int] = [:]
    private var ended: [String: UInt64] = [:]

    mutating func begin(_ shard: String) { running[shard, default: 0] += 1 }

    mutating func end(_ shard: String) {
        ended[shard, default: 0] += 1
        running[shard] = running[shard].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Returns a value that differs after each change; nil during a change.
    func mark(of shard: String) -> UInt64? { running[shard] == nil ? ended[shard] ?? 0 : nil }
}

/// The scan runs in small steps on the file threads, so that no other work waits long for it.
extension DiskStore {
    private static let removalsAtOnce = 128

    /// Makes a change of the entries in a subfolder, which a scan may be reading, and counts it.
    ///
    /// - Parameter make: Returns how many entries and bytes there are more than before.
    func change<Failure: Error>(
        _ shard: String, _ make: () throws(Failure) -> (entries: Int, bytes: Int64)
    ) throws(Failure) {
        box.withLock { $0.changes.begin(shard) }
        do throws(Failure) { endChange(of: shard, try make()) } catch {
            endChange(of: shard, (0, 0))
            throw error
        }
    }

    func endChange(of shard: String, _ change: (entries: Int, bytes: Int64)) {
        func added(_ bytes: UInt64) -> UInt64 { UInt64(max(0, Int64(clamping: bytes) + change.bytes)) }
        box.withLock { state in
            state.changes.end(shard)
            state.entries = max(0, state.entries + change.entries)
            state.bytes = added(state.bytes)
            // A subfolder that the scan has passed already is not counted again.
            guard let position = state.scan?.position, Int(shard, radix: 16) ?? 256 < position else { return }
            state.scan?.entries += change.entries
            state.scan.map { state.scan?.bytes = added($0.bytes) }
        }
    }

    /// Starts the first scan, after the first answer.
    func scanOnce() {
        if box.withLock({ !$0.isScanned && $0.scan == nil }) { scan() }
    }

    /// Starts a scan, if none is running.
    func scan() {
        let isNew = box.withLock { state in
            guard state.scan == nil else { return false }
            (state.scan, state.isScanned, state.written) = (DiskScan(), true, 0)
            return true
        }
        if isNew { nextStep() }
    }

    private func nextStep() {
        guard let position = box.withLock({ $0.scan?.position }) else { return }
        FileThread.all[position % FileThread.all.count].perform { [self] in
            if position < DiskName.shards.count {
                let shard = DiskName.shards[position]
                let mark = box.withLock { $0.changes.mark(of: shard) }
                let found = mark == nil ? [] : entries(in: shard)
                box.withLock { state in
                    // An entry that changed meanwhile would be counted twice or never. The subfolder is read again.
                    guard state.scan?.position == position, mark != nil, state.changes.mark(of: shard) == mark
                    else { return }
                    state.scan?.add(found)
                    state.scan?.position += 1
                }
                nextStep()
            } else {
                for removed in folder.removedFolders { folder.removeFolder(removed) }
                evict()
            }
        }
    }

    /// Returns the entries of a subfolder. Removes the files that killed processes have left.
    private func entries(in shard: String) -> [DiskScan.Candidate] {
        let now = Date().timeIntervalSince1970
        var found: [DiskScan.Candidate] = []
        var variants: [String] = []
        for name in folder.names(in: shard) {
            let kind = DiskName.kind(of: name)
            let path = "\(shard)/\(name)"
            guard kind != .foreign, let status = folder.status(of: path), status.isRegular else { continue }
            let isOld = abs(now - status.modified) > settings.leftoverAge
            switch kind {
            case .entry:
                // A time in the future, after the clock was set back, must not keep an entry for ever.
                found.append(
                    DiskScan.Candidate(path: path, modified: min(status.modified, now), space: status.space))
            case .variants: if isOld { variants.append(path) }
            case .temporary: if isOld { removeLeftover(path) }
            case .foreign: break
            }
        }
        for path in variants {
            let prefix = path.dropLast(DiskName.variantsSuffix.utf8.count)
            if !found.contains(where: { $0.path.hasPrefix(prefix) }) { folder.remove(path) }
        }
        return found
    }

    /// Removes a temporary file, unless a process still writes it and therefore holds its lock.
    private func removeLeftover(_ path: String) {
        guard case .file(let file, _) = folder.open(path) else { return }
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { return }
        folder.remove(path)
    }

    /// Removes the oldest entries if the limit is exceeded, and ends the scan.
    private func evict() {
        let (oldest, excess) = box.withLock { state -> ([DiskScan.Candidate], UInt64) in
            guard var scan = state.scan else { return ([], 0) }
            (state.entries, state.bytes) = (scan.entries, scan.bytes)
            scan.trim()
            // Some space stays free, so that not every new entry starts a scan.
            let target = limit - limit / 16
            return (scan.candidates, scan.bytes > limit ? scan.bytes - target : 0)
        }
        evict(oldest[...], excess, hasRemoved: false)
    }

    private func evict(_ oldest: ArraySlice<DiskScan.Candidate>, _ excess: UInt64, hasRemoved: Bool) {
        var (excess, hasRemoved) = (excess, hasRemoved)
        for candidate in oldest.prefix(Self.removalsAtOnce) where excess > 0 {
            // An entry that was used meanwhile stays.
            guard let status = folder.status(of: candidate.path), status.isRegular,
                status.modified <= candidate.modified || candidate.modified < status.modified - 1e9,
                remove(candidate.path, ifSameAs: status)
            else { continue }
            box.withLock { $0.evicted += 1 }
            excess -= min(excess, candidate.space)
            hasRemoved = true
        }
        let rest = oldest.dropFirst(Self.removalsAtOnce)
        let (left, removed) = (excess, hasRemoved)
        if left > 0, !rest.isEmpty {
            return FileThread.assigned().perform { [self] in evict(rest, left, hasRemoved: removed) }
        }
        // The position stands for the whole folder until here, so that removals were counted.
        let waiters = box.withLock { state -> [@Sendable () -> Void] in
            state.scan = nil
            defer { state.waiters = [] }
            return state.waiters
        }
        if left > 0, removed { scan() }
        for waiter in waiters { waiter() }
    }

    /// Waits for the running scan, for all work that was given to the file threads before, and for what this work has
    /// given to them: the file of an abandoned response is removed after the response was written.
    package func settle() async {
        for _ in 0..<2 {
            for thread in FileThread.all {
                await withCheckedContinuation { done in thread.perform { done.resume() } }
            }
        }
        while true {
            let isRunning = await withCheckedContinuation { (done: CheckedContinuation<Bool, Never>) in
                let isRunning = box.withLock { state in
                    guard state.scan != nil else { return false }
                    state.waiters.append { done.resume(returning: true) }
                    return true
                }
                if !isRunning { done.resume(returning: false) }
            }
            if !isRunning { return }
        }
    }

    // MARK: Looking inside

    package func list() -> any CacheListing { DiskListing(self) }

    package func filter(_ isKept: @escaping @Sendable (StoredHead, UInt64) -> Bool) async throws {
        let listing = DiskListing(self)
        while let entries = await listing.nextEntries() {
            try Task.checkCancellation()
            // The user's code runs in the caller's task, and never on a file thread.
            for entry in entries where !isKept(entry.listedHead, entry.record.count) {
                remove(entry, of: entry.record.url)
            }
        }
    }
}

/// A pass over all entries on disk. Few of them are open at the same time.
private final class DiskListing: CacheListing {
    private struct State {
        var shard = 0
        /// The paths of entries in earlier subfolders that were not delivered yet.
        var paths: ArraySlice<String> = []
    }

    private static let openAtOnce = 32

    private let store: DiskStore
    private let box = Protected(State())

    init(_ store: DiskStore) { self.store = store }

    func next() async -> [(head: StoredHead, size: UInt64)]? {
        await nextEntries()?.map { ($0.listedHead, $0.record.count) }
    }

    /// Returns the next entries; nil after the last ones.
    func nextEntries() async -> [DiskEntry]? {
        while true {
            let (paths, shard) = box.withLock { state -> ([String], String?) in
                let paths = Array(state.paths.prefix(Self.openAtOnce))
                state.paths = state.paths.dropFirst(paths.count)
                guard paths.isEmpty, state.shard < DiskName.shards.count else { return (paths, nil) }
                state.shard += 1
                return ([], DiskName.shards[state.shard - 1])
            }
            if !paths.isEmpty { return await load(paths) }
            guard let shard else { return nil }
            let found = await entryPaths(in: shard)
            box.withLock { $0.paths += found }
        }
    }

    private func entryPaths(in shard: String) async -> [String] {
        await withCheckedContinuation { done in
            FileThread.assigned().perform { [store] in
                let names = store.folder.names(in: shard).filter { DiskName.kind(of: $0) == .entry }
                done.resume(returning: names.map { "\(shard)/\($0)" })
            }
        }
    }

    private func load(_ paths: [String]) async -> [DiskEntry] {
        await withCheckedContinuation { done in
            FileThread.assigned().perform { [store] in
                guard !store.box.withLock({ $0.isClearing }) else { return done.resume(returning: []) }
                done.resume(returning: paths.compactMap { store.load($0) })
            }
        }
    }
}

extension DiskEntry {
    /// The head for a list, in which the values of the selection and the party are hashes.
    fileprivate var listedHead: StoredHead {
        record.stored(
            partition: record.partition.hexadecimal, Selection(names: record.selection.names, in: []))
    }
}
