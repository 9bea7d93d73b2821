/// A stream of a file's bytes. The first read opens the file, and `end()` closes the file.
///
/// If the file has changed since the body was made, reading fails. The stream compares the file's length and version
/// when it opens the file, and again before it returns the last bytes. If the second comparison fails, the last bytes
/// are not sent, so the server does not receive a complete request.
final class TransportFileStream: TransportBodyStream {
    private enum State {
        case closed
        case open(ReadableFile, position: UInt64)
        case ended
    }

    private let path: String
    private let length: UInt64
    private let version: TransportFileVersion?
    private let range: Range<UInt64>
    private let box = Protected(State.closed)

    /// - Parameter range: The part of the file to read; nil for the whole file.
    init(path: String, length: UInt64, version: TransportFileVersion?, range: Range<UInt64>? = nil) {
        self.path = path
        self.length = length
        self.version = version
        self.range = range ?? 0..<length
    }

    func begin(wake: @escaping @Sendable () -> Void) {}

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        do {
            guard let (file, position) = try opened(), position < range.upperBound else { return .end }
            let room = buffer.prefix(Int(clamping: range.upperBound - position))
            let count = try file.read(at: position, into: UnsafeMutableRawBufferPointer(rebasing: room))
            let reached = position + UInt64(count)
            if count == 0 || reached == range.upperBound { try check(file) }
            box.withLock { if case .open = $0 { $0 = .open(file, position: reached) } }
            return count > 0 ? .bytes(count) : .failed(changed("ended after \(reached) of \(length) bytes"))
        } catch let failure as ReadableFile.Failure {
            return .failed(TransportError.bodyFailed(failure.message, failure))
        } catch {
            return .failed(error)
        }
    }

    func end() {
        // The state is returned, so that its file is closed after unlocking.
        _ = box.withLock { state in
            defer { state = .ended }
            return state
        }
    }

    private func opened() throws -> (ReadableFile, position: UInt64)? {
        switch box.withLock({ $0 }) {
        case .ended: return nil
        case .open(let file, let position): return (file, position)
        case .closed:
            let file = try ReadableFile(path: path)
            try check(file)
            return box.withLock { state in
                guard case .closed = state else { return nil }
                state = .open(file, position: range.lowerBound)
                return (file, range.lowerBound)
            }
        }
    }

    private func check(_ file: ReadableFile) throws {
        let now = try file.status()
        if now.length != length { throw changed("has \(now.length) bytes and should have \(length)") }
        if let version, version != now.version { throw changed("has changed since the body was made") }
    }

    private func changed(_ problem: String) -> TransportError {
        .bodyFailed("the file \(path) \(problem)")
    }
}

final class TransportDataStream: TransportBodyStream {
    private let data: Data
    private let position = Protected(0)

    init(_ data: Data) { self.data = data }

    func begin(wake: @escaping @Sendable () -> Void) {}

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let range = position.withLock { position in
            let start = position
            position += min(buffer.count, data.count - start)
            return start..<position
        }
        let start = data.startIndex
        data[(start + range.lowerBound)..<(start + range.upperBound)].copyBytes(to: buffer)
        return range.isEmpty ? .end : .bytes(range.count)
    }

    func end() {}
}
