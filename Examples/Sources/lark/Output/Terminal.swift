import Foundation

/// A file to which lark writes: standard output, standard error, or the file of `--output`.
struct Terminal: Sendable {
    let descriptor: Int32
    let isTerminal: Bool

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    static let output = Terminal(1)
    static let error = Terminal(2)

    /// Opens a file for writing, and replaces its content.
    static func file(_ path: String) throws -> Terminal {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw Exit(.file, "the file “\(path)” cannot be written: \(String(cString: strerror(errno)))")
        }
        return Terminal(descriptor)
    }

    /// Writes all bytes.
    ///
    /// - Throws: `Exit` with `.brokenPipe` if the reader of a pipe has ended.
    func write(_ bytes: some ContiguousBytes) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
                let count = systemWrite(descriptor, start, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&waiting, 1, -1)
                } else if errno == EPIPE {
                    throw Exit(.brokenPipe)
                } else if errno != EINTR {
                    throw Exit(.file, "the output cannot be written: \(String(cString: strerror(errno)))")
                }
            }
        }
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// The number of columns and rows; 80 and 24 if this is no terminal.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int { write(file, bytes, count) }
