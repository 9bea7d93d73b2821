#if canImport(os)
    public import os
#endif

/// The destination of a log. Several sessions and requests can share a sink, because it writes each block as a whole,
/// one block after another.
public struct LogSink: Sendable {
    private let writer: BlockWriter
    /// Whether blocks contain colors for a terminal.
    public let hasColors: Bool

    /// Creates a sink that calls the closure with one block at a time. A block ends with a line end.
    public init(hasColors: Bool = false, write: @escaping @Sendable (String) -> Void) {
        writer = BlockWriter(write)
        self.hasColors = hasColors
    }

    func write(_ block: String) { writer.write(block) }

    /// The process's standard error, with colors if it is a terminal and the environment does not set `NO_COLOR`.
    public static let standardError = LogSink(
        hasColors: wantsColors(isTerminal: isatty(STDERR_FILENO) == 1, ProcessInfo.processInfo.environment)
    ) { FileDescriptor.append($0, to: STDERR_FILENO) }

    /// Returns a sink that appends each block to a file with one system call. Creates the file if it does not exist,
    /// and makes it accessible by its owner only. A block is lost if the disk is full.
    ///
    /// - Throws: ``RequestError`` if the file cannot be opened, if it is a symbolic link, has a second hard link, or
    ///   belongs to another user. A device or a pipe is used as it is.
    public static func file(_ url: URL) throws(RequestError) -> LogSink {
        let file = try FileDescriptor(appendingTo: url.filePath)
        return LogSink { FileDescriptor.append($0, to: file.number) }
    }

    #if canImport(os)
        /// Returns a sink that writes to the system's log. The entries are marked public, because the monitor has
        /// already redacted secrets.
        public static func logger(_ logger: Logger, level: OSLogType = .default) -> LogSink {
            LogSink { logger.log(level: level, "\($0, privacy: .public)") }
        }
    #endif

    /// Returns whether to use colors: only on a terminal with colors, and not if `NO_COLOR` is set
    /// (https://no-color.org).
    static func wantsColors(isTerminal: Bool, _ environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
}

/// A writer of blocks that writes on one thread at a time. While one thread is writing, other threads add their blocks
/// to its queue and do not wait.
private final class BlockWriter: Sendable {
    private struct State {
        var isWriting = false
        var blocks: [String] = []
        var missed = 0
    }

    /// The maximum number of queued blocks. Further blocks are dropped and counted.
    private static let limit = 1_024

    private let perform: @Sendable (String) -> Void
    private let box = Protected(State())

    init(_ perform: @escaping @Sendable (String) -> Void) { self.perform = perform }

    func write(_ block: String) {
        let isWriting = box.withLock { state in
            if state.blocks.count < Self.limit { state.blocks.append(block) } else { state.missed += 1 }
            defer { state.isWriting = true }
            return state.isWriting
        }
        guard !isWriting else { return }
        while let blocks = take() {
            for block in blocks { perform(block) }
        }
    }

    private func take() -> [String]? {
        box.withLock { state in
            if state.blocks.isEmpty {
                state.isWriting = false
                return nil
            }
            defer { (state.blocks, state.missed) = ([], 0) }
            return state.blocks + (state.missed > 0 ? ["… \(state.missed) entries are not written\n"] : [])
        }
    }
}

private final class FileDescriptor: Sendable {
    let number: Int32

    init(appendingTo path: String) throws(RequestError) {
        // Another user may have placed a link there, so that this process would write to another file.
        number = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        var status = stat()
        guard number >= 0, fstat(number, &status) == 0 else { throw .system("opened", path) }
        guard status.st_mode & S_IFMT == S_IFREG else { return }
        guard status.st_nlink <= 1, status.st_uid == geteuid() else {
            throw RequestError(
                .fileUnwritable,
                "the log \(path) has a second hard link or belongs to another user; use another file")
        }
        if status.st_mode & 0o177 != 0, fchmod(number, 0o600) != 0 {
            throw .system("made private", path)
        }
    }

    deinit { close(number) }

    /// Writes the text with one system call, or with several if the system writes only a part. Stops at an error.
    static func append(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: rest)
                let count = write(descriptor, piece.baseAddress, piece.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if count < 0, errno == EAGAIN {
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    if poll(&waiting, 1, -1) < 0, errno != EINTR { return }
                } else if count == 0 || errno != EINTR {
                    return
                }
            }
        }
    }
}
