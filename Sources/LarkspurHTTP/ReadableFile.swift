/// The identity of a file's content: device, inode and modification time.
///
/// The identity differs if another file now has the same path, or if the file was modified.
public struct TransportFileVersion: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let seconds: Int
    private let nanoseconds: Int

    /// The time of the last modification.
    ///
    /// Records that are stored on disk contain only this part, because devices may have other numbers after a restart.
    package var modification: Modification {
        Modification(seconds: Int64(seconds), nanoseconds: Int32(truncatingIfNeeded: nanoseconds))
    }

    package struct Modification: Hashable, Sendable, Codable {
        let seconds: Int64
        let nanoseconds: Int32
    }

    fileprivate init(_ status: stat) {
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
        seconds = modified.tv_sec
        nanoseconds = modified.tv_nsec
    }
}

/// A regular file that stays open for reading as long as this object exists.
package final class ReadableFile: Sendable {
    package struct Failure: Error {
        package enum Kind: Sendable { case missing, directory, irregular, unreadable }

        package let kind: Kind
        /// One line that contains the file's path.
        package let message: String

        fileprivate init(_ kind: Kind, _ path: String, _ problem: String) {
            self.kind = kind
            message = "the file \(path) \(problem)"
        }

        fileprivate static func system(_ verb: String, _ path: String) -> Failure {
            let code = errno
            if code == ENOENT || code == ENOTDIR { return Failure(.missing, path, "does not exist") }
            return Failure(.unreadable, path, "cannot be \(verb): \(String(cString: strerror(code)))")
        }
    }

    package let path: String
    private let descriptor: Int32

    /// Opens the file. If the path does not lead to a regular file, throws without opening it, because opening a device
    /// may have effects.
    package init(path: String) throws(Failure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system("found", path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw Failure(.directory, path, "is a directory")
        default: throw Failure(.irregular, path, "is a device, a pipe or a socket")
        }
        // A pipe may have replaced the file since the check. With O_NONBLOCK, opening the pipe does not wait for a
        // writer, and reading it returns no bytes.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system("opened", path) }
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Returns the current length and version.
    package func status() throws(Failure) -> (length: UInt64, version: TransportFileVersion) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system("examined", path) }
        return (UInt64(clamping: status.st_size), TransportFileVersion(status))
    }

    /// Fills the buffer with bytes from `position` on and returns their number. At the end of the file, the number is
    /// less than the buffer's capacity, or 0.
    package func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(clamping: position))
            if count >= 0 { return count }
            guard errno == EINTR else { throw .system("read", path) }
        }
    }
}
