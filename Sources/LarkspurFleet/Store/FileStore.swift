import Dispatch
import Larkspur
internal import LarkspurAnnex

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A store in a folder, for the processes of one machine.
///
///     let store = try FileStore(folder: URL(fileURLWithPath: "/var/lib/shop/fleet"))
///
/// Each value, counter and lease has a small file. A change holds a lock of the operating system, which ends with its
/// process, and replaces the file at once: a process that is killed leaves the state from before or after the change.
/// Other processes wait for the lock, at most for the `patience`; then the operation fails with `.busy`. That happens
/// if a process was stopped (SIGSTOP) in the middle of a change.
///
/// All processes belong to the same user: the folder is accessible by its owner only. The folder is on a local disk.
/// Network file systems are not supported, because machines do not agree on the time. After a restart of the machine,
/// values without a lifetime are still there, also after a loss of power, and all leases are free. Files of values and
/// counters that have ended are removed from time to time, and those of leases a week after their last use.
public final class FileStore: RecordStore {
    private static let shardCount = 16

    private let root: String
    private let patience: Duration
    private let shards: [FileShard]
    private let now: @Sendable () -> Duration
    private let boot: String
    private let sweep: FileSweep
    /// The system's functions; other functions in tests.
    private let (perform, flush): (WholeWrite.Function, FileShard.Flush)

    /// Creates a store, and the folder if it does not exist.
    ///
    /// - Parameter patience: The maximum time to wait for a change of another process.
    /// - Throws: `StoreError` with the code `.denied` if the folder cannot be used, or belongs to another user.
    public convenience init(folder: URL, patience: Duration = .seconds(5)) throws(StoreError) {
        try self.init(folder: folder, patience: patience, now: StoreTime.sinceBoot, boot: StoreTime.boot)
    }

    init(
        folder: URL, patience: Duration = .seconds(5), now: @escaping @Sendable () -> Duration, boot: String,
        sweepAfter minimum: Int = 1_000, write perform: @escaping WholeWrite.Function = WholeWrite.system,
        flush: @escaping FileShard.Flush = { fsync($0) }
    ) throws(StoreError) {
        (self.perform, self.flush) = (perform, flush)
        guard folder.isFileURL else { throw StoreError(.denied, "the URL of the store's folder is not a file URL") }
        sweep = FileSweep(root: folder.path, minimum: minimum)
        (root, self.patience, self.now, self.boot) = (folder.path, patience, now, boot)
        try FileShard.makePrivateFolder(root)
        for kind in RecordName.Kind.allCases { try FileShard.makePrivateFolder(root + "/" + kind.rawValue) }
        var shards: [FileShard] = []
        for number in 0..<Self.shardCount { shards.append(FileShard(lock: root + "/lock-\(number)")) }
        self.shards = shards
    }

    private func shard(of name: RecordName) -> FileShard {
        // Each process computes the same number. The `hashValue` of a string differs from process to process.
        let hash = name.bytes.reduce(UInt64(5_381)) { $0 &* 33 &+ UInt64($1) }
        return shards[Int(hash % UInt64(Self.shardCount))]
    }

    /// The path of a record: the kind's folder, and the name in a form that every file system distinguishes. A long
    /// name has several folders.
    private func path(of name: RecordName) -> [String] {
        var escaped = name.escaped
        var parts: [String] = []
        while escaped.count > 200 {
            parts.append(String(decoding: escaped.prefix(200), as: UTF8.self) + "+")
            escaped.removeFirst(200)
        }
        return [root + "/" + name.kind.rawValue] + parts + [String(decoding: escaped, as: UTF8.self)]
    }

    func read(_ name: RecordName) async throws(StoreError) -> (StoreRecord, now: Duration) {
        // A file is replaced as a whole, so a reader needs no lock.
        let path = path(of: name).joined(separator: "/")
        return try await FileShard.performRead { [boot, now] () throws(StoreError) in
            (try FileShard.load(path, boot: boot) ?? StoreRecord(), now())
        }
    }

    func change<Result: Sendable>(
        _ name: RecordName,
        _ change: @escaping @Sendable (inout StoreRecord, Duration) -> Swift.Result<Result, StoreError>
    ) async throws(StoreError) -> Result {
        let (shard, parts, start) = (shard(of: name), path(of: name), ContinuousClock.now)
        return try await shard.perform {
            [boot, now, patience, sweep, perform, flush, weak self] () throws(StoreError) in
            try shard.withLock(since: start, patience: patience) { () throws(StoreError) in
                let path = parts.joined(separator: "/")
                let before = try FileShard.load(path, boot: boot)
                var record = before ?? StoreRecord()
                let result = try change(&record, now()).get()
                guard record != before ?? StoreRecord() else { return result }
                let bytes = record.bytes(of: boot)
                // Values are read without the lock.
                if name.kind == .value {
                    let isLasting = record.isLasting || before?.isLasting ?? false
                    try FileShard.replace(parts, with: bytes, perform, isLasting ? flush : nil)
                } else {
                    let old = before?.bytes(of: boot) ?? []
                    try FileShard.overwrite(parts, with: bytes, over: old, perform)
                }
                sweep.didChange { [weak self] in self?.removeIfEnded($0, $1) }
                return result
            }
        }
    }

    /// Removes a record that has nothing to remember.
    private func removeIfEnded(_ name: RecordName, _ path: String) {
        func hasEnded() -> Bool {
            // With the lock, no process is writing such a file, so its writer was killed.
            if path.hasSuffix(FileShard.newSuffix) { return true }
            // A record that another process writes at this time may be incomplete.
            guard let record = try? FileShard.load(path, boot: boot) else { return false }
            return record.isForgettable(name.kind, at: now())
        }
        guard hasEnded() else { return }
        let shard = shard(of: name)
        shard.performAndWait { [patience] in
            try? shard.withLock(since: .now, patience: patience) { () throws(StoreError) in
                if hasEnded() { unlink(path) }
            }
        }
    }

    /// Returns a sequence of a value's changes. It looks for them every 20 milliseconds.
    public func changes(of key: String) -> AsyncStream<Void> {
        guard let name = try? RecordName(.value, key) else {
            return AsyncStream { $0.yield() }
        }
        return FileWatch(path(of: name).joined(separator: "/")).changes
    }
}
