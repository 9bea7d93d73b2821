import Foundation

/// Standard input, read piece by piece when the reader asks for the next piece.
struct StandardInput: AsyncSequence, Sendable {
    /// Bytes that have been read already.
    var beginning = Data()

    func makeAsyncIterator() -> Iterator { Iterator(beginning: beginning.isEmpty ? nil : beginning) }

    struct Iterator: AsyncIteratorProtocol {
        var beginning: Data?

        mutating func next() async -> Data? {
            if let beginning = beginning.take() { return beginning }
            return await withCheckedContinuation { continuation in
                StandardInput.thread.async { continuation.resume(returning: StandardInput.read()) }
            }
        }
    }

    /// A read blocks its thread, so it must not run on a thread of Swift's tasks.
    private static let thread = DispatchQueue(label: "lark.input")

    /// Whether standard input is a pipe, a socket or a file. A terminal, and `/dev/null`, is not.
    static var isPiped: Bool {
        var facts = stat()
        guard fstat(0, &facts) == 0 else { return false }
        return [S_IFIFO, S_IFREG, S_IFSOCK].contains(facts.st_mode & S_IFMT)
    }

    /// Reads up to `limit` bytes, and says whether this is all.
    static func read(upTo limit: Int) -> (bytes: Data, isWhole: Bool) {
        var bytes = Data()
        while bytes.count < limit {
            guard let piece = read() else { return (bytes, true) }
            bytes += piece
        }
        return (bytes, false)
    }

    private static func read() -> Data? {
        var piece = Data(count: 64 << 10)
        while true {
            let count = piece.withUnsafeMutableBytes { systemRead(0, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            return count > 0 ? piece.prefix(count) : nil
        }
    }
}

private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, buffer, count)
}
