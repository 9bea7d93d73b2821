/// An entry that was opened and judged: its file, and the newest record in it.
struct DiskEntry {
    let file: DiskFile
    let path: String
    let id: UInt64
    let record: DiskRecord
    /// The size of the file when it was opened. Other processes may append records later.
    let size: UInt64
    /// The verified body, if the file is small.
    let body: Data?
    /// The time of the last modification when the file was opened, in seconds since 1970.
    var modified = 0.0

    /// The size up to which a file is read in one piece: two blocks with a head of usual size, and no larger body.
    private static let window = StoredResponse.buffer
    /// The number of bytes at the end of a larger file that are read for its head.
    private static let tailSize = 16 << 10

    /// Reads an entry's head, and the body if the file is small. Returns nil if the file is damaged.
    init?(_ file: DiskFile, _ path: String, size: UInt64) {
        let least = UInt64(DiskFormat.preambleSize + DiskFormat.trailerSize)
        guard size >= least else { return nil }
        let isSmall = size <= UInt64(Self.window)
        let count = isSmall ? Int(size) : Self.tailSize
        guard let tail = file.memory(at: size - UInt64(count), count),
            let id = isSmall ? tail.id : file.memory(at: 0, DiskFormat.preambleSize)?.id,
            let length = tail.lengthOfRecord, UInt64(length) <= size - least,
            case let sealed = length + DiskFormat.trailerSize,
            let record = sealed <= count
                ? tail.record(sealed, id) : file.memory(at: size - UInt64(sealed), sealed)?.record(sealed, id),
            let end = DiskFormat.end(ofBody: record.count), end <= size - UInt64(sealed)
        else { return nil }
        if isSmall {
            guard let body = tail.body(of: Int(record.count), id) else { return nil }
            self.body = body
        } else {
            body = nil
        }
        (self.file, self.path, self.id, self.record, self.size) = (file, path, id, record, size)
    }

    /// The position at which the blocks of the body end.
    var end: UInt64 { DiskFormat.end(ofBody: record.count) ?? size }
}

/// The body of an entry on disk.
///
/// The open file stays as it is when the entry is replaced or removed, so a reader always gets one response to its end.
final class DiskBody: StoredBody {
    /// The number of bytes that a file thread delivers before it does other work.
    private static let turn: UInt64 = 4 * UInt64(DiskFormat.blockSize)

    let entry: DiskEntry
    let url: String
    private let store: DiskStore

    init(_ entry: DiskEntry, url: String, store: DiskStore) {
        self.entry = entry
        self.url = url
        self.store = store
    }

    var count: UInt64 { entry.record.count }

    var whole: Data? { entry.body }

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        if let body = entry.body { return done(.success(body.rest(from: Int(position)))) }
        // The thread that has found the entry, or has read the block before, goes on without a change of threads.
        if FileThread.isCurrent, position % Self.turn != 0 || position == 0 { return done(readNow(at: position)) }
        FileThread.assigned(to: url).perform { [self] in done(readNow(at: position)) }
    }

    private func readNow(at position: UInt64) -> Result<Data, TransportError> {
        let index = position / UInt64(DiskFormat.blockSize)
        guard let block = entry.file.block(index, of: count, entry.id) else {
            store.remove(entry, of: url)
            return .failure(
                TransportError(.truncated, "the stored response is damaged; it was removed from the cache, try again"))
        }
        let offset = Int(position % UInt64(DiskFormat.blockSize))
        return .success(block.rest(from: offset))
    }
}

extension Data {
    /// Returns the bytes from an offset on, whose first index is 0.
    func rest(from offset: Int) -> Data {
        offset == 0 && startIndex == 0 ? self : subdata(in: (startIndex + offset)..<endIndex)
    }
}
