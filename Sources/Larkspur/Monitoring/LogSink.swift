#if canImport(os)
    public import os
#endif

/// Where a log goes: each block as a whole, one after the other, whatever sessions and requests they are of.
public struct LogSink: Sendable {
    private let writer: BlockWriter
    /// Whether blocks are coloured for a terminal.
    public let hasColors: Bool

    /// A sink of a closure, which is given one block at a time, with the line end of its last line.
    public init(hasColors: Bool = false, write: @escaping @Sendable (String) -> Void) {
        writer = BlockWriter(write)
        self.hasColors = hasColors
    }

    func write(_ block: String) { writer.write(block) }

    /// The process's standard error, in colours if that is a terminal and the environment does not say `NO_COLOR`.
    public static let standardError = LogSink(
        hasColors: wantsColors(isTerminal: isatty(STDERR_FILENO) == 1, ProcessInfo.processInfo.environment)
    ) { FileDescriptor.append($0, to: STDERR_FILENO) }

    /// A file to whose end blocks are written, each with one call. It is made, for its owner alone, if it is not there. A block
    /// that the disk has no room for is lost.
    public static func file(_ url: URL) throws(RequestError) -> LogSink {
        let file = try FileDescriptor(appendingTo: url.filePath)
        return LogSink { FileDescriptor.append($0, to: file.number) }
    }

    #if canImport(os)
        /// The system's log. Entries are public: what is secret in them is hidden before.
        public static func logger(_ logger: Logger, level: OSLogType = .default) -> LogSink {
            LogSink { logger.log(level: level, "\($0, privacy: .public)") }
        }
    #endif

    /// What https://no-color.org says, and a terminal that knows no colours.
    static func wantsColors(isTerminal: Bool, _ environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
}

/// Has blocks written by one thread at a time, which is not made to wait for another: whoever finds somebody writing leaves
/// its block to that one.
private final class BlockWriter: Sendable {
    private enum Writer { case nobody, somebody }

    private struct State {
        var writer = Writer.nobody
        var blocks: [String] = []
        var missed = 0
    }

    /// So many may wait where somebody writes for too long.
    private static let limit = 1_024

    private let perform: @Sendable (String) -> Void
    private let box = Protected(State())

    init(_ perform: @escaping @Sendable (String) -> Void) { self.perform = perform }

    func write(_ block: String) {
        let before = box.withLock { state in
            if state.blocks.count < Self.limit { state.blocks.append(block) } else { state.missed += 1 }
            defer { state.writer = .somebody }
            return state.writer
        }
        guard before == .nobody else { return }
        while let blocks = take() {
            for block in blocks { perform(block) }
        }
    }

    private func take() -> [String]? {
        box.withLock { state in
            if state.blocks.isEmpty {
                state.writer = .nobody
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
        number = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if number < 0 { throw .system("opened", path) }
    }

    deinit { close(number) }

    /// Writes the text with one call, or more if the system takes less; gives up where it takes nothing.
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
