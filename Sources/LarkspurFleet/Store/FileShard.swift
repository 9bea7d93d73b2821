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

/// A part of a store's records, with one lock. Operations of this process on the part run one after the other, on a
/// thread of their own, because they wait for the disk and for other processes.
final class FileShard: Sendable {
    private let lock: String
    private let queue: DispatchQueue
    /// The descriptor of the file with the lock, which stays open; negative before the first use.
    private let descriptor = Guarded<Int32>(-1)

    init(lock: String) {
        self.lock = lock
        queue = DispatchQueue(label: "Larkspur store")
    }

    deinit {
        let descriptor = descriptor.withLock { $0 }
        if descriptor >= 0 { close(descriptor) }
    }

    /// The threads that read, which wait for no other process.
    private static let readers = DispatchQueue(label: "Larkspur store", attributes: .concurrent)

    /// Runs the operation on a thread for reading.
    static func performRead<Result: Sendable>(
        _ operation: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        try await perform(on: readers, operation)
    }

    /// Runs the operation on the thread of this part.
    func perform<Result: Sendable>(
        _ operation: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        try await Self.perform(on: queue, operation)
    }

    /// Runs the operation on the thread of this part, and waits for it.
    func performAndWait(_ operation: () -> Void) { queue.sync(execute: operation) }

    private static func perform<Result: Sendable>(
        on queue: DispatchQueue, _ operation: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let result = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Swift.Result(catching: operation)) }
        }
        return try result.get()
    }

    /// Runs the operation while no other process changes records of this part. Call it on the thread of this part.
    ///
    /// - Parameter start: The time since which the caller waits. Operations wait for earlier ones of this process, too.
    func withLock<Result>(
        since start: ContinuousClock.Instant, patience: Duration, _ operation: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        var file = try openLock()
        try wait(for: file, since: start, patience)
        while !isCurrent(file) {
            // The folder was removed or renamed. Other processes use the lock of another folder with this path.
            closeLock()
            file = try openLock()
            try wait(for: file, since: start, patience)
        }
        defer { flock(file, LOCK_UN) }
        return try operation()
    }

    private func wait(for file: Int32, since start: ContinuousClock.Instant, _ patience: Duration) throws(StoreError) {
        var pause: UInt32 = 20
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw Self.error("cannot be locked", lock, errno) }
            guard ContinuousClock.now - start < patience else {
                throw StoreError(
                    .busy,
                    "another process holds \(lock) for longer than \(patience); see whether a process with this store was stopped"
                )
            }
            usleep(pause)
            pause = min(pause * 2, 5_000)
        }
    }

    private func isCurrent(_ file: Int32) -> Bool {
        var (opened, found) = (stat(), stat())
        guard fstat(file, &opened) == 0, lstat(lock, &found) == 0 else { return false }
        return opened.st_dev == found.st_dev && opened.st_ino == found.st_ino
    }

    private func closeLock() {
        let closed = descriptor.withLock { descriptor in
            defer { descriptor = -1 }
            return descriptor
        }
        if closed >= 0 { close(closed) }
    }

    private func openLock() throws(StoreError) -> Int32 {
        let known = descriptor.withLock { $0 }
        if known >= 0 { return known }
        let opened = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw Self.error("cannot be opened", lock, errno) }
        descriptor.withLock { $0 = opened }
        return opened
    }

    // MARK: Files

    /// Creates a folder that only its owner can use. Refuses a folder of another user, because that user could replace
    /// the files.
    static func makePrivateFolder(_ path: String) throws(StoreError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw error("cannot be created", path, errno) }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw error("cannot be read", path, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw StoreError(.denied, "\(path) is not a folder") }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw StoreError(
                .denied,
                "the folder \(path) must belong to the user of this process, and must be closed to others (mode 700)")
        }
    }

    /// Reads a record; nil if there is none.
    static func load(_ path: String, boot: String) throws(StoreError) -> StoreRecord? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw error("cannot be opened", path, errno)
        }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = chunk.withUnsafeMutableBytes { Self.read(file, $0) }
            if count < 0 { throw error("cannot be read", path, errno) }
            if count == 0 { break }
            bytes += chunk[..<count]
            guard bytes.count <= StoreRecord.maximumValue + 1_024 else { break }
            if count == chunk.count { chunk = [UInt8](repeating: 0, count: min(chunk.count * 4, 1 << 20)) }
        }
        if bytes.isEmpty { return nil }  // the disk was full when the file was created
        guard let record = StoreRecord(bytes, boot: boot) else {
            throw StoreError(.damaged, "the record \(path) is damaged; delete the file to start without it")
        }
        return record
    }

    /// The system's function `fsync`, or another function with its rules.
    typealias Flush = @Sendable (Int32) -> Int32

    /// The end of the name of a file that will replace a record.
    static let newSuffix = ".new"

    /// Replaces a record at once: by another file, which has a fixed name, so that killed processes leave no more than
    /// one.
    ///
    /// - Parameters:
    ///   - parts: The folders, of which the first exists, and the name of the file.
    ///   - flush: Writes a file to the disk, before and after the replacement. Nil for a record that ends with the next
    ///     start of the machine.
    static func replace(
        _ parts: [String], with bytes: [UInt8], _ perform: WholeWrite.Function, _ flush: Flush?
    ) throws(StoreError) {
        let path = parts.joined(separator: "/")
        let new = path + newSuffix
        let file = try create(new, parts, O_TRUNC)
        var failure = WholeWrite.write(bytes, to: file, with: perform)
        if failure == 0, let flush { failure = self.flush(file, flush) }
        // Some file systems report a full disk only here.
        let isClosed = close(file) == 0
        let closing = errno
        guard failure == 0, isClosed else {
            unlink(new)
            throw error("cannot be written", new, failure != 0 ? failure : closing)
        }
        guard rename(new, path) == 0 else {
            let number = errno
            unlink(new)
            throw error("cannot be replaced", path, number)
        }
        guard let flush else { return }
        for count in 1..<parts.count {
            let folder = parts.prefix(count).joined(separator: "/")
            let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            defer { if opened >= 0 { close(opened) } }
            let failure = opened < 0 ? errno : self.flush(opened, flush)
            guard failure == 0 else {
                throw StoreError(
                    .unavailable, "the store's \(folder) cannot be flushed: \(String(cString: strerror(failure)))")
            }
        }
    }

    /// Returns the number of the system's error, or 0. Some file systems do not flush; that is no error.
    private static func flush(_ file: Int32, _ perform: Flush) -> Int32 {
        while perform(file) != 0 {
            if errno != EINTR { return errno == EINVAL || errno == ENOTSUP ? 0 : errno }
        }
        return 0
    }

    /// Writes a small record over the old one, which has the same size. A process that is killed has written all or
    /// nothing of so few bytes. Replacing the file would take ten times as long, because file systems then write
    /// to the disk. Only for records that are read with the lock.
    ///
    /// - Parameter old: The old record, which is restored if the new one cannot be written; empty if there is none.
    static func overwrite(
        _ parts: [String], with bytes: [UInt8], over old: [UInt8], _ perform: WholeWrite.Function
    ) throws(StoreError) {
        let path = parts.joined(separator: "/")
        let file = try create(path, parts, 0)
        defer { close(file) }
        let failure = WholeWrite.write(bytes, to: file, with: perform)
        guard failure == 0 else {
            // A part of the new record may be there. The file has the space of the old one already.
            _ = WholeWrite.write(old, to: file, with: perform)
            ftruncate(file, off_t(old.count))
            throw error("cannot be written", path, failure)
        }
    }

    /// Opens a file for writing. Creates it, and its folders, if they do not exist.
    private static func create(_ path: String, _ parts: [String], _ flags: Int32) throws(StoreError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags
        var file = open(path, flags, 0o600)
        if file < 0, errno == ENOENT, parts.count > 2 {
            for count in 2..<parts.count {
                let folder = parts.prefix(count).joined(separator: "/")
                guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                    throw error("cannot be created", folder, errno)
                }
            }
            file = open(path, flags, 0o600)
        }
        guard file >= 0 else { throw error("cannot be created", path, errno) }
        return file
    }

    private static func read(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            #if canImport(Darwin)
                let count = Darwin.read(file, buffer.baseAddress, buffer.count)
            #elseif canImport(Glibc)
                let count = Glibc.read(file, buffer.baseAddress, buffer.count)
            #else
                let count = Musl.read(file, buffer.baseAddress, buffer.count)
            #endif
            if count >= 0 || errno != EINTR { return count }
        }
    }

    private static func error(_ problem: String, _ path: String, _ number: Int32) -> StoreError {
        let code: StoreError.Code =
            switch number {
            case ENOSPC, EDQUOT: .full
            case EACCES, EPERM, EROFS, ELOOP, ENOTDIR: .denied
            default: .unavailable
            }
        return StoreError(code, "the store's \(path) \(problem): \(String(cString: strerror(number)))")
    }
}
