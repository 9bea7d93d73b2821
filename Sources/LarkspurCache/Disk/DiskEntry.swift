/// An entry that was opened and judged: its file, and the newest record in it.
struct DiskEntry {
    let file: DiskFile
    let path: String
    let id: UInt64
    let record: DiskRecord
    /// The size of the file when it was opened. Other processes may append records later.
    let size: UInt64
    /// The body, if the file is small.
    let data: Data?

    /// The size up to which a file is read in one piece.
    private static let window = 16 << 10

    /// Reads an entry's head. Returns nil if the file is damaged.
    init?(_ file: DiskFile, _ path: String, size: UInt64) {
        let least = UInt64(DiskFormat.preambleSize + DiskFormat.trailerSize)
        guard size >= least else { return nil }
        let start = size > UInt64(Self.window) ? size - UInt64(Self.window) : 0
        guard let tail = file.read(at: start, Int(size - start)) else { return nil }
        let preamble = start == 0 ? tail : file.read(at: 0, DiskFormat.preambleSize) ?? []
        guard let id = preamble.withUnsafeBytes({ DiskFormat.id(in: $0) }),
            let length = tail.withUnsafeBytes({ DiskFormat.length(in: Self.trailer(of: $0)) }),
            UInt64(length) <= size - least,
            let sealed = Self.sealed(length + DiskFormat.trailerSize, in: tail, file, size),
            let record = sealed.withUnsafeBytes({ DiskFormat.unsealed($0, id).flatMap(DiskRecord.init) }),
            let end = DiskFormat.end(ofBody: record.count), end <= size - UInt64(length + DiskFormat.trailerSize)
        else { return nil }
        (self.file, self.path, self.id, self.record, self.size) = (file, path, id, record, size)
        guard start == 0 else {
            data = nil
            return
        }
        let blocks = tail[DiskFormat.preambleSize..<Int(end)]
        guard !blocks.isEmpty else {
            data = Data()
            return
        }
        guard let block = blocks.withUnsafeBytes({ DiskFormat.block($0, 0, id).map { Data($0) } }) else { return nil }
        data = block
    }

    private static func trailer(of tail: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: tail.suffix(DiskFormat.trailerSize))
    }

    private static func sealed(_ count: Int, in tail: [UInt8], _ file: DiskFile, _ size: UInt64) -> [UInt8]? {
        count <= tail.count ? Array(tail.suffix(count)) : file.read(at: size - UInt64(count), count)
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

    func read(at position: UInt64, _ done: @escaping @Sendable (Result<Data, TransportError>) -> Void) {
        if let data = entry.data { return done(.success(position == 0 ? data : data.subdata(from: Int(position)))) }
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
        return .success(offset == 0 ? block : block.subdata(from: offset))
    }
}

extension Data {
    func subdata(from offset: Int) -> Data { subdata(in: (startIndex + offset)..<endIndex) }
}
