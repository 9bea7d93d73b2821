/// A regular file, open for appending while this object exists. Not thread-safe.
package final class WritableFile {
    package let path: String
    private let descriptor: Int32
    package private(set) var length: UInt64 = 0
    /// The offset up to which the system was already told to write the file's bytes to disk.
    private var flushing: UInt64 = 0
    /// The number of new bytes after which the system is told to write these bytes to disk.
    private static let flushInterval: UInt64 = 8 << 20

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Unlocks the file before closing the descriptor: a child process that the app has just forked still has a copy of
    /// the descriptor, and with the copy the lock, until the child runs its program.
    deinit {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Creates a file. Throws if the file exists. The process's umask applies to the mode.
    package static func create(_ path: String, mode: mode_t = 0o666) throws(RequestError) -> WritableFile {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .uncreated(path) }
        return WritableFile(path, descriptor)
    }

    /// Opens or creates a file and locks it. Throws `.fileInUse` if another request or process has locked it.
    package static func claim(_ path: String, mode: mode_t = 0o666) throws(RequestError) -> WritableFile {
        while true {
            let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            var descriptor = open(path, flags | O_EXCL, mode)
            let isNew = descriptor >= 0
            if !isNew, errno == EEXIST { descriptor = open(path, flags, mode) }
            guard descriptor >= 0 else { throw .uncreated(path) }
            let file = WritableFile(path, descriptor)
            // Some file systems do not support locks. On such a file system the file is used without a lock.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                throw RequestError(
                    .fileInUse,
                    "another request or process is writing to the file \(path); use another destination, or wait")
            }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw .system("examined", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw RequestError(.fileNotRegular, "the file to write, \(path), is not a regular file")
            }
            file.length = UInt64(clamping: status.st_size)
            file.flushing = file.length
            // The previous owner of the lock may have moved the file, or may have been killed while the file had a
            // second hard link. Such a file must not be written. An existing file may also be accessible to other
            // users.
            let hasOnlyThisPath = status.st_nlink == 1 && file.isAtPath(status)
            let isOpenToOthers = !isNew && mode & 0o077 == 0 && status.st_mode & 0o077 != 0
            if hasOnlyThisPath, !isOpenToOthers || fchmod(descriptor, mode) == 0 { return file }
            if hasOnlyThisPath || status.st_nlink > 1, unlink(path) != 0 { throw .system("removed", path) }
        }
    }

    private func isAtPath(_ own: stat) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_ino == own.st_ino && status.st_dev == own.st_dev
    }

    package func append(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
        try write(bytes, at: length)
        // Start writing to disk early, so that `flush` has to wait for fewer bytes.
        guard length - flushing >= Self.flushInterval else { return }
        FileFlush.begin(descriptor, from: flushing, count: length - flushing)
        flushing = length
    }

    /// Writes the bytes at this position. If the file is shorter, it grows, and zeros fill the gap.
    package func write(_ bytes: UnsafeRawBufferPointer, at position: UInt64) throws(RequestError) {
        var (rest, position) = (bytes[...], position)
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = pwrite(descriptor, piece.baseAddress, piece.count, off_t(clamping: position))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("written", path) }
            position += UInt64(count)
            length = max(length, position)
            rest = rest.dropFirst(count)
        }
    }

    package func append(_ data: Data) throws {
        try data.withUnsafeBytes { try append($0) }
    }

    package func truncate() throws(RequestError) {
        guard ftruncate(descriptor, 0) == 0 else { throw .system("emptied", path) }
        (length, flushing) = (0, 0)
    }

    /// If only the owner may use the file, changes its mode to the default mode of new files.
    package func publish() throws(RequestError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o777 == 0o600 else { return }
        // Reading the umask would change it for all threads for a moment. The code therefore creates a sample file,
        // whose mode shows the umask.
        let sample = path + ".mode"
        unlink(sample)
        let file = try Self.create(sample)
        defer { unlink(sample) }
        guard fstat(file.descriptor, &status) == 0, fchmod(descriptor, status.st_mode & 0o777) == 0 else {
            throw .system("made readable", path)
        }
    }

    /// Waits until the file's bytes are on disk. Network file systems may report a full disk only here.
    package func flush() throws(RequestError) {
        while FileFlush.finish(descriptor) != 0 {
            switch errno {
            case EINTR: continue
            case EINVAL, ENOTSUP: return  // the file system does not support flushing
            default: throw .system("written", path)
            }
        }
    }
}

extension RequestError {
    package static func system(_ verb: String, _ path: String) -> RequestError {
        let code = errno
        let reason = String(cString: strerror(code))
        return switch code {
        case EEXIST: fileExists(path)
        case ENOSPC, EDQUOT: RequestError(.diskFull, "the disk is full: the file \(path) cannot be \(verb)")
        default: RequestError(.fileUnwritable, "the file \(path) cannot be \(verb): \(reason)")
        }
    }

    /// Returns the error for a file that the system could not create. `ENOENT` means that the file's folder is missing.
    static func uncreated(_ path: String) -> RequestError {
        guard errno == ENOENT else { return .system("created", path) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return RequestError(
            .fileUnwritable,
            "the file \(path) cannot be created, because its folder \(folder) does not exist; "
                + "create it, or use the download option .createIntermediateDirectories")
    }

    package static func fileExists(_ path: String) -> RequestError {
        RequestError(.fileExists, "the file \(path) exists already, and is not overwritten")
    }
}

extension WritableFile {
    /// Replaces the file at the path atomically: a reader finds the old content or the new one. Only the owner can read
    /// the file. Throws if another writer or process is replacing the file.
    package static func replace(_ path: String, by data: Data) throws {
        let new = try claim(path + ".new", mode: 0o600)
        do {
            try new.truncate()
            try new.append(data)
            try new.flush()
            guard rename(new.path, path) == 0 else { throw RequestError.system("replaced", path) }
        } catch {
            unlink(new.path)
            throw error
        }
    }
}
