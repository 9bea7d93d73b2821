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

/// The scan runs in small steps on the file threads, so that no other work waits long for it.
extension DiskStore {
    private static let removalsAtOnce = 128

    /// Notes a change of the entries in a subfolder.
    func account(_ shard: String, _ entries: Int, _ space: Int64) {
        func added(_ bytes: UInt64) -> UInt64 { UInt64(max(0, Int64(clamping: bytes) + space)) }
        box.withLock { state in
            state.entries = max(0, state.entries + entries)
            state.bytes = added(state.bytes)
            // A subfolder that the scan has passed already is not counted again.
            guard let position = state.scan?.position, Int(shard, radix: 16) ?? 256 < position else { return }
            state.scan?.entries += entries
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
                let found = entries(in: DiskName.shards[position])
                box.withLock { state in
                    guard state.scan?.position == position else { return }
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

    /// Waits for the running scan, and for all work that was given to the file threads before.
    package func settle() async {
        for thread in FileThread.all {
            await withCheckedContinuation { done in thread.perform { done.resume() } }
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

    package func filter(_ isKept: @escaping @Sendable (StoredHead, UInt64) -> Bool) async throws {
        for shard in DiskName.shards {
            try Task.checkCancellation()
            let names = await entryNames(in: shard)
            for start in stride(from: 0, to: names.count, by: Self.openAtOnce) {
                // The user's code runs in the caller's task, and never on a file thread.
                for entry in await load(names[start..<min(start + Self.openAtOnce, names.count)], in: shard) {
                    let record = entry.record
                    let selection = Selection(names: record.selection.names, in: [])
                    let head = record.stored(partition: record.partition.hexadecimal, selection)
                    if !isKept(head, record.count) { remove(entry, of: record.url) }
                }
            }
        }
    }

    /// The number of entries that are open at the same time while all are listed.
    private static let openAtOnce = 32

    private func entryNames(in shard: String) async -> [String] {
        await withCheckedContinuation { done in
            FileThread.assigned().perform { [self] in
                done.resume(returning: folder.names(in: shard).filter { DiskName.kind(of: $0) == .entry })
            }
        }
    }

    private func load(_ names: ArraySlice<String>, in shard: String) async -> [DiskEntry] {
        await withCheckedContinuation { done in
            FileThread.assigned().perform { [self] in
                guard !box.withLock({ $0.isClearing }) else { return done.resume(returning: []) }
                done.resume(returning: names.compactMap { load("\(shard)/\($0)") })
            }
        }
    }
}
