internal import CLarkspur

/// A regular file, open for writing at its end as long as somebody keeps this. Not for several threads at once.
final class WritableFile {
    let path: String
    private let descriptor: Int32
    private(set) var length: UInt64 = 0
    /// Up to where the disk has been told to begin.
    private var flushing: UInt64 = 0
    /// After how many bytes the disk is told.
    private static let stretch: UInt64 = 8 << 20

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// A new file; one that exists is not touched. The process's umask takes from the mode.
    static func create(_ path: String, mode: mode_t = 0o666) throws(RequestError) -> WritableFile {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .uncreated(path) }
        return WritableFile(path, descriptor)
    }

    /// A file that may exist, for this alone: another request or process that has claimed it is an error.
    static func claim(_ path: String, mode: mode_t = 0o666) throws(RequestError) -> WritableFile {
        while true {
            let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            var descriptor = open(path, flags | O_EXCL, mode)
            let isNew = descriptor >= 0
            if !isNew, errno == EEXIST { descriptor = open(path, flags, mode) }
            guard descriptor >= 0 else { throw .uncreated(path) }
            let file = WritableFile(path, descriptor)
            // Some file systems know no locks: there it goes without.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                throw RequestError(.fileInUse, "another request writes to the same place, and to the file \(path)")
            }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw .system("examined", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw RequestError(.fileNotRegular, "\(path), which is to be written to, is no regular file")
            }
            file.length = UInt64(clamping: status.st_size)
            file.flushing = file.length
            // Who had the lock before may have moved the file to its place, or was killed when it had two names. What was left
            // behind, or put there, may be open to others.
            let isAlone = status.st_nlink == 1 && file.isStillThere(status)
            let isOpenToOthers = !isNew && mode & 0o077 == 0 && status.st_mode & 0o077 != 0
            if isAlone, !isOpenToOthers || fchmod(descriptor, mode) == 0 { return file }
            if isAlone || status.st_nlink > 1, unlink(path) != 0 { throw .system("removed", path) }
        }
    }

    private func isStillThere(_ own: stat) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_ino == own.st_ino && status.st_dev == own.st_dev
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = pwrite(descriptor, piece.baseAddress, piece.count, off_t(clamping: length))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("written", path) }
            length += UInt64(count)
            rest = rest.dropFirst(count)
        }
        // What the disk has begun with `flush` need not wait for.
        guard length - flushing >= Self.stretch else { return }
        clarkspur_file_begin_flush(descriptor, flushing, length - flushing)
        flushing = length
    }

    func append(_ data: Data) throws {
        try data.withUnsafeBytes { try append($0) }
    }

    func truncate() throws(RequestError) {
        guard ftruncate(descriptor, 0) == 0 else { throw .system("emptied", path) }
        (length, flushing) = (0, 0)
    }

    /// Gives a file that was for its owner alone the mode that other new files have.
    func publish() throws(RequestError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o777 == 0o600 else { return }
        // Reading the umask means changing it, for all threads; a new file shows what it leaves.
        let sample = path + ".mode"
        unlink(sample)
        let file = try Self.create(sample)
        defer { unlink(sample) }
        guard fstat(file.descriptor, &status) == 0, fchmod(descriptor, status.st_mode & 0o777) == 0 else {
            throw .system("made readable", path)
        }
    }

    /// Returns when what was written is with the disk. Where files are written over a network, a full disk may show only
    /// now.
    func flush() throws(RequestError) {
        while fsync(descriptor) != 0 {
            switch errno {
            case EINTR: continue
            case EINVAL, ENOTSUP: return  // a file system that has nothing to flush
            default: throw .system("written", path)
            }
        }
    }
}

extension RequestError {
    static func system(_ verb: String, _ path: String) -> RequestError {
        let code = errno
        let reason = String(cString: strerror(code))
        return switch code {
        case EEXIST: fileExists(path)
        case ENOSPC, EDQUOT: RequestError(.diskFull, "the disk is full: the file \(path) cannot be \(verb)")
        default: RequestError(.fileUnwritable, "the file \(path) cannot be \(verb): \(reason)")
        }
    }

    /// The system has just refused to create a file. What is missing then is never the file.
    static func uncreated(_ path: String) -> RequestError {
        guard errno == ENOENT else { return .system("created", path) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return RequestError(.fileUnwritable, "the folder \(folder), where a file is to go, does not exist")
    }

    static func fileExists(_ path: String) -> RequestError {
        RequestError(.fileExists, "the file \(path) exists, and is not overwritten")
    }
}
